// SPDX-License-Identifier: BSD-2-Clause
/* go_seeds DIRECTORY: writes a .gopclntab of each format there. */
#include <stdio.h>

#include "tests/unit/go_tables.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: go_seeds DIRECTORY\n");
		return 2;
	}
	for (unsigned int version = 0; version < VERSIONS; version++) {
		_cleanup_(buffer__free) struct buffer table =
			make_go_table((enum go_version)version, false);
		_cleanup_fclose_ FILE *file = NULL;
		char path[4096];

		snprintf(path, sizeof(path), "%s/%u", argv[1], version);
		file = fopen(path, "we");
		if (!file || table.failed || fwrite(table.data, 1, table.n, file) != table.n)
			return 1;
	}
	return 0;
}
