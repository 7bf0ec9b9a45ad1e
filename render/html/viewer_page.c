// SPDX-License-Identifier: BSD-2-Clause
#include "render/html/viewer_page.h"

/* In the section of constants; the assembler reads the file. */
__asm__(".section .rodata\n"
	".global viewer_page, viewer_page_size\n"
	"viewer_page: .incbin \"viewer/dist/page.html\"\n"
	"viewer_page_end:\n"
	".balign 8\n"
	"viewer_page_size: .quad viewer_page_end - viewer_page\n"
	".previous\n");
