/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information (DWARF 5, section 6.4; LSB 5.0, section 10.6 for .eh_frame): parsing its
 * entries, and running their instructions to get unwind rows. Internal to the unwind tables.
 * Input is not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buffer.h"
#include "abi/unwind.h"
#include "arch/dwarf.h"

/* A section of entries, with the bases of their pointers. */
struct cfi_section {
	const uint8_t *data;
	size_t size;	  /* below 4 GiB */
	uint64_t address; /* linked address of @data */
	uint64_t text;	  /* base of DW_EH_PE_textrel */
	uint64_t got;	  /* base of DW_EH_PE_datarel */
	bool debug_frame; /* .debug_frame, else .eh_frame */
	bool terminated;  /* ends at an entry of length 0; @size is an upper bound */
};

enum cfi_rule_kind {
	CFI_RULE_SAME = 0, /* also if there is no rule */
	CFI_RULE_UNDEFINED = 1,
	CFI_RULE_OFFSET = 2,	 /* saved at CFA + offset */
	CFI_RULE_EXPRESSION = 3, /* saved at the address that the expression yields */
	CFI_RULE_OTHER = 4,	 /* val_offset, val_expression: not supported */
	CFI_RULE_REGISTER = 5,	 /* in the register with number @offset */
};

/* A DWARF expression; points into the section. */
struct cfi_expression {
	const uint8_t *data;
	size_t size;
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	int64_t offset;
	struct cfi_expression expression;
};

/* A row of the CFI table: the CFA, and the rules of the frame pointer and the return address. */
struct cfi_state {
	bool cfa_is_expression;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_expression cfa;
	struct cfi_rule fp;
	struct cfi_rule ra;
};

struct cfi_cie {
	size_t offset;		    /* of the entry in its section */
	uint8_t id_size;	    /* of the id field, also in its FDEs; bytes */
	uint8_t encoding;	    /* of pointers in FDEs, DW_EH_PE_* */
	bool has_augmentation_size; /* FDEs have augmentation data */
	uint64_t code_align;
	int64_t data_align;
	struct cfi_state initial;
};

struct cfi_fde {
	uint32_t begin; /* virtual addresses */
	uint32_t end;
	uint32_t program; /* offset in the section */
	uint32_t program_size;
	uint32_t cie; /* index */
};

/* The entries of a section. */
struct cfi_entries {
	ARRAY(struct cfi_cie) cies; /* by offset */
	ARRAY(struct cfi_fde) fdes; /* in section order */
	size_t max;		    /* of each; 0: no limit */
};

struct cfi_rows {
	ARRAY(struct unwind_row) rows;
	size_t max; /* 0: no limit */
};

/*
 * Reads all entries of @section to @entries, of which only max is set. Skips malformed ones, and
 * FDEs without CIE or above 4 GiB. Returns 0 or -ENOMEM (also: there are more than max); @entries
 * must be freed in both cases.
 */
int cfi__read(const struct cfi_section *section, struct cfi_entries *entries);
void cfi__free(struct cfi_entries *entries);

/*
 * Reads a pointer with encoding DW_EH_PE_*; @function is the base of DW_EH_PE_funcrel. Makes the
 * cursor bad if the pointer is malformed, indirect or omitted.
 */
uint64_t cfi__pointer(const struct cfi_section *section, struct cursor *c, uint8_t encoding,
		      uint64_t function);

/* Runs the initial instructions of @cie to set @cie->initial. 0 or -EINVAL. */
int cfi__run_initial(const struct cfi_section *section, struct cfi_cie *cie, struct cursor program);

/*
 * Appends the rows of @fde up to address @end. Returns 0, -EINVAL (malformed; some rows may have
 * been appended) or -ENOMEM.
 */
int cfi__run(const struct cfi_section *section, const struct cfi_cie *cie,
	     const struct cfi_fde *fde, uint32_t end, struct cfi_rows *rows);

/* Converts @state to an unwind row for the kernel side, with pc 0. */
struct unwind_row cfi__row(const struct cfi_state *state);

/*
 * Appends @row with address @pc, unless the last row has the same rules. 0 or -ENOMEM (also: there
 * are max).
 */
int cfi_rows__push(struct cfi_rows *rows, uint32_t pc, struct unwind_row row);
