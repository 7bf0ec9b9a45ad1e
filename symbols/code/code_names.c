// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/code_names.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/symbols.h"

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The length of the operator symbol at @text, which follows "operator". */
static size_t operator_length(const char *text)
{
	static const char *const symbols[] = {
		"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">", "(",
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (!strncmp(text, symbols[i], strlen(symbols[i])))
			return strlen(symbols[i]);
	return 0;
}

/* The end of the bracketed part at @text. The > of "->" is not a bracket. */
static const char *skip_brackets(const char *text)
{
	size_t depth = 0;

	for (; *text; text++) {
		if (strchr("<({[", *text))
			depth++;
		else if (strchr(">)}]", *text) && !(*text == '>' && text[-1] == '-'))
			depth--;
		if (!depth)
			return text + 1;
	}
	return text;
}

static bool is_operator(const char *name, const char *at)
{
	return !strncmp(at, "operator", 8) && !is_identifier(at[8]) &&
	       (at == name || !is_identifier(at[-1]));
}

/*
 * For Rust's "<TYPE>::function" and "<TYPE as TRAIT>::function": the end of TYPE, and in *@behind
 * what follows the bracket. NULL if @name is neither.
 */
static const char *end_of_type(const char *name, const char **behind)
{
	const char *end;

	*behind = name;
	if (name[0] != '<' || name[1] == '<')
		return NULL;
	*behind = skip_brackets(name);
	if (strncmp(*behind, "::", 2) != 0)
		return NULL;
	for (end = name + 1; end < *behind - 1 && strncmp(end, " as ", 4) != 0;)
		end = strchr("<({[", *end) ? skip_brackets(end) : end + 1;
	return end;
}

void code_name__strip(const char *name, char plain[MAX_CODE_NAME])
{
	const char *behind, *type_end = end_of_type(name, &behind);
	const char *at = type_end ? name + 1 : name;
	bool fresh = true; /* at the start of a component */
	size_t n = 0;

	while (*at && n < MAX_CODE_NAME - 1) {
		const char *end = at + 1;

		if (at == type_end) {
			at = behind;
			continue;
		}
		if (is_operator(name, at)) {
			end = at + 8 + operator_length(at + 8);
		} else if (strchr("<({", *at)) {
			end = skip_brackets(at);
			/* "::<T>": Rust's template arguments. */
			if (fresh && n >= 2 && *at == '<' && strncmp(at, "<impl ", 6) != 0) {
				n -= 2;
				fresh = false;
			}
			/* "(anonymous namespace)", "{lambda()#1}", "<T as U>" are components. */
			if (!fresh) {
				at = end;
				continue;
			}
		} else if (!strncmp(at, "::", 2)) {
			while (n && plain[n - 1] == ' ')
				n--;
			end = at + 2;
		} else if (!strncmp(at, " [clone", 7)) {
			break;
		} else if (!strncmp(at, " const", 6) && at > name && at[-1] == ')') {
			at += 6;
			continue;
		}
		fresh = end - at == 2 && *at == ':';
		for (; at < end && n < MAX_CODE_NAME - 1; at++)
			plain[n++] = *at;
	}
	while (n && plain[n - 1] == ' ')
		n--;
	plain[n] = '\0';
}

const char *code_name__last(const char *plain)
{
	const char *last = plain;

	for (const char *at = plain; *at; at++) {
		if (strchr("<({", *at) && at == last)
			at = skip_brackets(at) - 1;
		else if (at[0] == ':' && at[1] == ':')
			last = ++at + 1;
	}
	return last;
}

/* Suffixes that compilers append to the names of parts and clones of a function. */
static const char *const suffixes[] = {
	".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm.", ".localalias", "@",
};

size_t code_name__stem(const char *raw)
{
	size_t n = strlen(raw);

	if (n < 2 || !raw[1 + strcspn(raw + 1, ".@")])
		return n; /* nearly all names: there are many */
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *found = *raw ? strstr(raw + 1, suffixes[i]) : NULL;

		if (found && (size_t)(found - raw) < n)
			n = (size_t)(found - raw);
	}
	return n;
}

bool code_name__is_part(const char *raw)
{
	return strstr(raw, ".cold") || strstr(raw, ".part.");
}

void code_query__set(struct code_query *query, const char *text)
{
	query->text = text;
	code_name__strip(text, query->plain);
	query->last = code_name__last(query->plain);
	query->has_parameters = strchr(text, '(') != NULL;
	query->has_arguments = strcmp(query->plain, text) != 0;
}

/* Whether @text is @end, or ends with @before and @end. */
static bool ends_with(const char *text, const char *end, const char *before)
{
	size_t n = strlen(text);
	size_t m = strlen(end);
	size_t k = strlen(before);

	if (m > n || strcmp(text + n - m, end) != 0)
		return false;
	return m == n || (n - m >= k && !strncmp(text + n - m - k, before, k));
}

/*
 * As ends_with(), ignoring spaces, in which users and demanglers differ. Signatures of templates
 * start with the return type.
 */
static enum code_match match_signature(const char *signature, const char *text)
{
	const char *a = signature + strlen(signature);
	const char *b = text + strlen(text);

	while (b > text) {
		b--;
		if (*b == ' ')
			continue;
		do {
			if (a == signature)
				return CODE_MATCH_NONE;
		} while (*--a == ' ');
		if (*a != *b)
			return CODE_MATCH_NONE;
	}
	if (a == signature || a[-1] == ' ')
		return CODE_MATCH_SIGNATURE;
	return a[-1] == ':' ? CODE_MATCH_END : CODE_MATCH_NONE;
}

enum code_match code_query__match(const struct code_query *query, const char *name,
				  const char *linkage)
{
	char plain[MAX_CODE_NAME];

	if (!strcmp(query->text, name))
		return CODE_MATCH_NAME;
	if (query->has_parameters && linkage) {
		_cleanup_free_ char *signature = symbols__signature(linkage);

		enum code_match match =
			signature ? match_signature(signature, query->text) : CODE_MATCH_NONE;

		if (match != CODE_MATCH_NONE)
			return match;
	}
	if (linkage && !strcmp(query->text, linkage))
		return CODE_MATCH_LINKAGE;
	if (ends_with(name, query->text, "::"))
		return CODE_MATCH_END;
	if (query->has_arguments)
		return CODE_MATCH_NONE;
	code_name__strip(name, plain);
	return ends_with(plain, query->plain, "::") ? CODE_MATCH_END : CODE_MATCH_NONE;
}

#define MAX_COMPARED 64

unsigned int code_name__distance(const char *a, const char *b, unsigned int most)
{
	unsigned int before[MAX_COMPARED + 1];
	unsigned int now[MAX_COMPARED + 1];
	size_t n = strnlen(a, MAX_COMPARED);
	size_t m = strnlen(b, MAX_COMPARED);

	if ((n > m ? n - m : m - n) * 2 >= most)
		return most;
	for (size_t j = 0; j <= m; j++)
		before[j] = 2 * (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned int least = now[0] = 2 * (unsigned int)i;

		for (size_t j = 1; j <= m; j++) {
			unsigned int change = a[i - 1] == b[j - 1] ? 0 : 2;

			if (change &&
			    tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]))
				change = 1;
			now[j] = before[j - 1] + change;
			if (before[j] + 2 < now[j])
				now[j] = before[j] + 2;
			if (now[j - 1] + 2 < now[j])
				now[j] = now[j - 1] + 2;
			if (now[j] < least)
				least = now[j];
		}
		if (least >= most)
			return most;
		memcpy(before, now, (m + 1) * sizeof(*now));
	}
	return before[m] < most ? before[m] : most;
}
