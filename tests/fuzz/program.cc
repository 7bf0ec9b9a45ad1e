// SPDX-License-Identifier: BSD-2-Clause
/* The same for C++: namespaces, templates, methods, lambdas, and a function that catches. */

namespace shop {

struct item {
	int price;
	virtual int total(int n);
};

int foreign(int n);

template <typename T> inline __attribute__((always_inline)) int sum(T n)
{
	auto add = [n](int more) { return foreign(more) + static_cast<int>(n); };

	return add(1) + add(2);
}

template <typename T> __attribute__((noinline)) static int other(T n)
{
	return sum<T>(n);
}

int item::total(int n)
{
	try {
		return other<long>(n) + sum<int>(price);
	} catch (...) {
		return 0;
	}
}

}
