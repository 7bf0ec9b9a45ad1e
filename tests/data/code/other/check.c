// SPDX-License-Identifier: BSD-2-Clause
unsigned int other_check(unsigned int sum);

unsigned int other_check(unsigned int sum)
{
	unsigned int times = 0;

	while (sum > 3) {
		sum = sum % 2 ? sum * 3 + 1 : sum / 2; /* LINE: other */
		times++;
	}
	return times;
}
