// SPDX-License-Identifier: BSD-2-Clause
/*
 * std::regex, which consists of small functions: searches N times in some lines of a log.
 *
 *	calls_regex N
 */
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], nullptr, 10) : 0, found = 0;
	std::regex address("([0-9]+)\\.([0-9]+)\\.([0-9]+)\\.([0-9]+)"),
		path("(GET|PUT) /[a-z/]*\\?id=([0-9]+)");
	std::vector<std::string> lines;
	std::smatch match;

	for (int i = 0; i < 50; i++)
		lines.push_back("10.1.2." + std::to_string(i) + " - - \"" +
				(i % 3 ? "GET" : "PUT") +
				" /some/where?id=" + std::to_string(i * 7919) + "\" 200");
	for (unsigned long i = 0; i < n; i++)
		for (const std::string &line : lines)
			found += std::regex_search(line, match, address) +
				 std::regex_search(line, match, path);
	printf("%lu\n", found);
	return n ? 0 : 2;
}
