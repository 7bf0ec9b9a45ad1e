// SPDX-License-Identifier: BSD-2-Clause
// Names for code.h to find: overloads, templates, lambdas, what nobody outside sees.
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace store
{
namespace
{
int secret(int x)
{
	return x * 7 + 3;
}

struct hidden {
	int value;

	__attribute__((noinline)) int get(int x) const
	{
		return value * secret(x);
	}
};
} // namespace

class table
{
      public:
	__attribute__((noinline)) int get(const std::string &key) const
	{
		auto found = rows_.find(key);

		return found == rows_.end() ? 0 : found->second;
	}
	__attribute__((noinline)) int get(const std::string &key, int otherwise) const
	{
		auto found = rows_.find(key);

		return found == rows_.end() ? secret(otherwise) : found->second;
	}
	__attribute__((noinline)) void put(const std::string &key, int value)
	{
		rows_[key] = value; /* LINE: put */
	}
	bool operator<(const table &other) const
	{
		return rows_.size() < other.rows_.size();
	}

      private:
	std::map<std::string, int> rows_;
};

template <typename T> __attribute__((noinline)) T total(const std::vector<T> &values)
{
	return std::accumulate(values.begin(), values.end(), T()); /* LINE: total */
}
} // namespace store

__attribute__((noinline)) static void fill(store::table &table, int n)
{
	for (int i = 0; i < n; i++)
		table.put("key " + std::to_string(i), i); /* LINE: fill */
}

int main(int argc, char **argv)
{
	std::vector<double> numbers;
	std::vector<int> counts;
	store::table tables[3];
	store::hidden hidden{argc};

	for (int i = 0; i < 3; i++)
		fill(tables[i], argc * (3 - i));
	for (int i = 0; i < argc; i++) {
		counts.push_back(tables[i % 3].get(argv[i])); /* LINE: push */
		numbers.push_back(tables[i % 3].get(argv[i], i) * 0.5);
	}
	std::sort(tables, tables + 3);
	std::sort(counts.begin(), counts.end(), [&](int a, int b) { /* LINE: lambda */
								    return hidden.get(a) <
									   hidden.get(b);
	});
	std::printf("%d %g\n", store::total(counts), store::total(numbers));
	return 0;
}
