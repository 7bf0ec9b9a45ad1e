/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The callchain of a moment, kernel and user joined, as people read it: the
 * scheduler's own frames left out where the thread was off the CPU.
 */
#pragma once

#include "model/model.h"

struct callchain_frame {
	uint32_t location; /* in model->locations; 0: the stack could not be read */
	uint32_t frame;	   /* in model->frames */
	uint32_t name;	   /* string; 0: no name, the address stands for it */
	uint32_t dso;
	bool kernel;
	bool inlined;
};

struct callchain {
	ARRAY(struct callchain_frame) frames; /* innermost first */
	size_t n_kernel;		      /* the first frames, that are the kernel's */
};

/*
 * Sets @chain to the frames of stacks @kernel and @user (either may be 0).
 * @off_cpu leaves out schedule() and what it calls. Reuses what @chain holds;
 * free with callchain__free(). Returns 0 or -ENOMEM.
 */
int callchain__set(struct callchain *chain, const struct model *model, uint32_t kernel,
		   uint32_t user, bool off_cpu);
void callchain__free(struct callchain *chain);

/*
 * Which frame a profile's row names (-1: there is none): the innermost when
 * on the CPU; off it the innermost user function that is no helper inside
 * the C library, or with @prefer_kernel the innermost kernel function. Blocked
 * Samples, OSDI'24, Figure 7.
 */
ssize_t callchain__row(const struct callchain *chain, const struct model *model, bool off_cpu,
		       bool prefer_kernel);

/* The innermost frame from @from on with a source line, or -1. */
ssize_t callchain__line(const struct callchain *chain, const struct model *model, size_t from);

/* The name of @frame, or its address: "0x12ab". Valid until the next call with the same @text. */
const char *callchain_frame__text(const struct callchain_frame *frame, const struct model *model,
				  char text[static 24]);
