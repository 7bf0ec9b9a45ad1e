/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends data to a server by HTTP, with libcurl, which is loaded when it is needed. */
#pragma once

#include <stddef.h>

/*
 * The URL that @url stands for, as the user gave it: "http://" is added if it has no scheme, and
 * @path if it has no path. Returns 0 with *@out to be freed, or -EINVAL with error__set() done, or
 * -ENOMEM.
 */
int http_post__url(const char *url, const char *path, char **out);

/*
 * POSTs the @n bytes at @data of type @content_type to @url. Does not follow redirections. Returns
 * 0 if the server has accepted them (status 2xx), or a negative errno with error__set() done.
 */
int http_post(const char *url, const char *content_type, const void *data, size_t n);
