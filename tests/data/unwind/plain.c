// SPDX-License-Identifier: BSD-2-Clause
/* Some frames in plain C, with or without a C library. */
int entry(int n);
int other(int a, int b, int c, int d, int e, int f, int g, int h);

volatile int sink;

__attribute__((noinline)) int other(int a, int b, int c, int d, int e, int f, int g, int h)
{
	_Alignas(64) volatile char line[64];
	char *room = __builtin_alloca(a + b);

	line[a & 63] = (char)b;
	room[c & 1] = (char)d;
	sink = line[1] + room[0];
	return entry(sink) * e + f - g * h;
}

int entry(int n)
{
	int sum = 0;

	if (n <= 0)
		return sink;
	for (int i = 0; i < n; i++)
		sum += other(i, n, sum, sink, i + 1, n + 1, sum + 1, sink + 1);
	return sum;
}

#if __STDC_HOSTED__
int main(void)
{
	return entry(1);
}
#endif
