// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/http_post.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/version.h"
#include "render/format.h"

#define CONNECT_SECONDS 10L
#define SILENT_SECONDS	60L /* without a byte: then it is given up */

/* The functions of libcurl that are used. */
struct curl {
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
};

/* The beginning of what the server answers. */
struct answer {
	char text[256];
	size_t n;
};

static int curl_load(struct curl *curl)
{
	const struct {
		void *function;
		const char *name;
	} functions[] = {
		{&curl->init, "curl_easy_init"},
		{&curl->setopt, "curl_easy_setopt"},
		{&curl->perform, "curl_easy_perform"},
		{&curl->getinfo, "curl_easy_getinfo"},
		{&curl->strerror, "curl_easy_strerror"},
		{&curl->cleanup, "curl_easy_cleanup"},
		{&curl->slist_append, "curl_slist_append"},
		{&curl->slist_free_all, "curl_slist_free_all"},
	};
	/* Never unloaded: its TLS library leaves thread destructors. */
	void *library = dlopen("libcurl.so.4", RTLD_LAZY);

	if (!library) {
		error__set(-ENOENT, "cannot load libcurl: %s", dlerror());
		error__hint("Install it: libcurl4 on Debian and Ubuntu, libcurl on Fedora. Or "
			    "write a file with -o, and send it with another program.");
		library = dlopen("libcurl-gnutls.so.4", RTLD_LAZY);
	}
	if (!library)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function) {
			error__set(-ENOSYS, "libcurl has no function %s", functions[i].name);
			return -ENOSYS;
		}
		memcpy(functions[i].function, &function, sizeof(function));
	}
	return 0;
}

int http_post__url(const char *url, const char *path, char **out)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;
	size_t n = strcspn(host, "/?#");
	const char *rest = host + n;
	int authority = (int)(rest - url);

	if (scheme && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return error__set(-EINVAL, "'%s' is neither an http nor an https URL", url);
	if (!n)
		return error__set(-EINVAL, "the URL '%s' has no host", url);
	if (*rest == '/' && rest[1] && rest[1] != '?' && rest[1] != '#')
		path = "";
	else if (*rest == '/')
		rest++;
	if (asprintf(out, "%s%.*s%s%s", scheme ? "" : "http://", authority, url, path, rest) < 0)
		return -ENOMEM;
	return 0;
}

static size_t on_answer(char *data, size_t size, size_t n, void *context)
{
	struct answer *answer = context;
	size_t left = sizeof(answer->text) - 1 - answer->n;
	size_t some = size * n < left ? size * n : left;

	memcpy(answer->text + answer->n, data, some);
	answer->n += some;
	return size * n;
}

/* Where the text of @answer begins. OTLP servers send a google.rpc.Status in protobuf: field 1 is a
 * number, field 2 the message. */
static char *text_of(struct answer *answer)
{
	struct cursor cursor = {.at = (uint8_t *)answer->text,
				.end = (uint8_t *)answer->text + answer->n};
	uint64_t tag = cursor__varint(&cursor);

	if (tag == (1 << 3 | 0)) {
		cursor__varint(&cursor);
		tag = cursor__varint(&cursor);
	}
	if (tag != (2 << 3 | 2))
		return answer->text;
	cursor__varint(&cursor); /* its length */
	return answer->text + (cursor.at - (uint8_t *)answer->text);
}

/* The first line of @answer that has text. */
static const char *first_line(struct answer *answer)
{
	char *at = text_of(answer);

	at += strspn(at, " \t\r\n");
	at[strcspn(at, "\r\n")] = '\0';
	return at;
}

static int check_status(const char *url, long status, struct answer *answer)
{
	const char *line = first_line(answer);
	char *text = NULL;
	size_t size;
	FILE *to;

	if (status >= 200 && status < 300)
		return 0;
	to = open_memstream(&text, &size);
	if (!to)
		return -ENOMEM;
	format__safe(to, line);
	fclose(to);
	error__set(-EPROTO, "%s answered with HTTP status %ld%s%s", url, status,
		   text && *text ? ": " : "", text ? text : "");
	if (status == 404)
		error__hint("The server does not receive profiles at this path.");
	free(text);
	return -EPROTO;
}

static CURLcode perform(const struct curl *curl, CURL *handle, const char *url, const void *data,
			size_t n, struct curl_slist *headers, struct answer *answer)
{
	char agent[128];

	snprintf(agent, sizeof(agent), "dwell/%s", dwell_version);
	curl->setopt(handle, CURLOPT_URL, url);
	curl->setopt(handle, CURLOPT_POST, 1L);
	curl->setopt(handle, CURLOPT_POSTFIELDS, data);
	curl->setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
	curl->setopt(handle, CURLOPT_HTTPHEADER, headers);
	curl->setopt(handle, CURLOPT_USERAGENT, agent);
	curl->setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl->setopt(handle, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl->setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl->setopt(handle, CURLOPT_LOW_SPEED_TIME, SILENT_SECONDS);
	curl->setopt(handle, CURLOPT_WRITEFUNCTION, on_answer);
	curl->setopt(handle, CURLOPT_WRITEDATA, answer);
	return curl->perform(handle);
}

static int post_with(const struct curl *curl, CURL *handle, const char *url, const void *data,
		     size_t n, struct curl_slist *headers)
{
	char message[CURL_ERROR_SIZE] = "";
	struct answer answer = {};
	long status = 0;
	CURLcode code;

	curl->setopt(handle, CURLOPT_ERRORBUFFER, message);
	code = perform(curl, handle, url, data, n, headers, &answer);
	curl->getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
	/* A server may answer and close before it has read everything. */
	if (code && status < 300)
		return error__set(-EIO, "cannot send to %s: %s", url,
				  *message ? message : curl->strerror(code));
	return check_status(url, status, &answer);
}

int http_post(const char *url, const char *content_type, const void *data, size_t n)
{
	_cleanup_free_ char *type = NULL;
	struct curl_slist *headers = NULL;
	struct curl curl = {};
	CURL *handle;
	int err = curl_load(&curl);

	if (err)
		return err;
	if (asprintf(&type, "Content-Type: %s", content_type) < 0) {
		type = NULL;
		return -ENOMEM;
	}
	handle = curl.init();
	headers = curl.slist_append(NULL, type);
	/* Or else curl waits for an interim answer before it sends much. */
	if (headers && curl.slist_append(headers, "Expect:") && handle)
		err = post_with(&curl, handle, url, data, n, headers);
	else
		err = -ENOMEM;
	curl.slist_free_all(headers);
	if (handle)
		curl.cleanup(handle);
	return err;
}
