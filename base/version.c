// SPDX-License-Identifier: BSD-2-Clause
#include "base/version.h"

#include "base/version_text.h"

const char dwell_version[] = DWELL_VERSION;
