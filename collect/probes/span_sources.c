// SPDX-License-Identifier: BSD-2-Clause
#include "collect/probes/span_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/error.h"
#include "recording/recording.h"

#define TCP  "tcp:"
#define UNIX "unix:"
#define USDT "usdt:"

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static int parse_port(const char *text, struct span_source *source)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || !port || port > UINT16_MAX)
		return error__set(-EINVAL, "'tcp:%s': a port must be between 1 and 65535", text);
	source->kind = SPAN_SOURCE_TCP;
	source->port = (uint16_t)port;
	return 0;
}

/* "@NAME" is in the abstract namespace, as ss and netstat print it. */
static int parse_path(const char *path, struct span_source *source)
{
	if (!*path || strlen(path) > sizeof(((struct sockaddr_un *)0)->sun_path)) {
		error__set(-EINVAL, "'unix:%s' is not the path of a socket", path);
		error__hint("give it as the server does (see ss -xl): unix:/run/php/php-fpm.sock");
		return -EINVAL;
	}
	source->kind = SPAN_SOURCE_UNIX;
	source->name = strdup(path);
	return source->name ? 0 : -ENOMEM;
}

/* The provider of "PROVIDER:NAME" is set if it was not before, or must be the same. */
static int parse_probe(char *text, struct span_source *source, char **name)
{
	char *colon = strchr(text, ':');

	if (colon) {
		*colon = '\0';
		if (source->provider && strcmp(source->provider, text) != 0)
			return -EINVAL;
		if (!source->provider && !(source->provider = strdup(text)))
			return -ENOMEM;
		text = colon + 1;
	}
	*name = strdup(text);
	return !*name ? -ENOMEM : !*text || (source->provider && !*source->provider) ? -EINVAL : 0;
}

static int parse_probes(const char *text, struct span_source *source)
{
	_cleanup_free_ char *copy = strdup(text);
	char *comma = copy ? strchr(copy, ',') : NULL;
	int err = comma ? 0 : -EINVAL;

	if (!copy)
		return -ENOMEM;
	source->kind = SPAN_SOURCE_PROBES;
	if (!err) {
		*comma = '\0';
		err = parse_probe(copy, source, &source->name);
	}
	err = err ? err : parse_probe(comma + 1, source, &source->end);
	if (err == -EINVAL) {
		error__set(-EINVAL, "'usdt:%s' does not name two probes", text);
		error__hint("give the one at the start and the one at the end, of one provider: "
			    "usdt:postgresql:query__start,query__done");
	}
	return err;
}

static int parse(const char *text, struct span_source *source)
{
	if (has_prefix(text, TCP))
		return parse_port(text + strlen(TCP), source);
	if (has_prefix(text, UNIX))
		return parse_path(text + strlen(UNIX), source);
	if (has_prefix(text, USDT))
		return parse_probes(text + strlen(USDT), source);
	if (!strcmp(text, RECORDING_TAGGED)) {
		source->kind = SPAN_SOURCE_TAGS;
		return 0;
	}
	if (!*text)
		return error__set(-EINVAL, "a request has no name");
	source->kind = SPAN_SOURCE_NAME;
	source->name = strdup(text);
	return source->name ? 0 : -ENOMEM;
}

bool span_sources__is_connection(const char *text)
{
	return has_prefix(text, TCP) || has_prefix(text, UNIX);
}

int span_sources__add(struct span_sources *sources, const char *text)
{
	struct span_source *source;

	if (sources->sources.n == CAPTURE_LISTENERS)
		return error__set(-EINVAL, "there are more than %d sources of requests",
				  CAPTURE_LISTENERS);
	source = array__add(&sources->sources);
	if (!source)
		return -ENOMEM;
	source->text = strdup(text);
	return source->text ? parse(text, source) : -ENOMEM;
}

static bool is_connection(const struct span_source *source)
{
	return source->kind == SPAN_SOURCE_TCP || source->kind == SPAN_SOURCE_UNIX;
}

uint32_t span_sources__connections(const struct span_sources *sources)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sources->sources.n; i++)
		n += is_connection(&sources->sources.data[i]);
	return n;
}

uint32_t span_sources__functions(const struct span_sources *sources)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sources->sources.n; i++)
		n += sources->sources.data[i].kind == SPAN_SOURCE_NAME;
	return n;
}

void span_sources__listen(const struct span_sources *sources, struct capture_settings *settings)
{
	for (uint32_t i = 0; i < sources->sources.n; i++) {
		const struct span_source *source = &sources->sources.data[i];
		struct capture_listener *listener = &settings->listeners[settings->n_listeners];

		if (!is_connection(source))
			continue;
		*listener = (struct capture_listener){.source = i + 1, .port = source->port};
		settings->listens_at_ports |= source->kind == SPAN_SOURCE_TCP;
		settings->listens_at_paths |= source->kind == SPAN_SOURCE_UNIX;
		if (source->kind == SPAN_SOURCE_UNIX) {
			memcpy(listener->path, source->name, strlen(source->name));
			if (*source->name == '@')
				*(char *)listener->path = '\0';
		}
		settings->n_listeners++;
	}
}

void span_sources__free(struct span_sources *sources)
{
	for (size_t i = 0; i < sources->sources.n; i++) {
		free(sources->sources.data[i].text);
		free(sources->sources.data[i].name);
		free(sources->sources.data[i].end);
		free(sources->sources.data[i].provider);
	}
	array__free(&sources->sources);
}
