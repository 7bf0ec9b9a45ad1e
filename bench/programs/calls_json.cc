// SPDX-License-Identifier: BSD-2-Clause
/*
 * nlohmann::json: parses a document of 500 objects N times, and writes it again.
 *
 *	calls_json N
 */
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

static std::string document()
{
	nlohmann::json list = nlohmann::json::array();

	for (int i = 0; i < 500; i++)
		list.push_back({{"id", i},
				{"name", "object number " + std::to_string(i)},
				{"share", i / 7.0},
				{"tags", {"a", "bc", "def"}},
				{"parent", i % 3 ? nlohmann::json(i / 3) : nlohmann::json()}});
	return list.dump();
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], nullptr, 10) : 0, bytes = 0;
	std::string text = document();

	for (unsigned long i = 0; i < n; i++)
		bytes += nlohmann::json::parse(text).dump().size();
	printf("%lu\n", bytes);
	return n ? 0 : 2;
}
