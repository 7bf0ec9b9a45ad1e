/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In a parser: a call that opens a file, which the sandbox turns into a signal, asks the recorder
 * for the file. So libraries that search for debug files by themselves (libdw) get them, too. The
 * recorder decides (debug_path.h); what it refuses fails with EACCES.
 */
#pragma once

/* Handles the signal from now on. To be called before the sandbox is entered. */
void debug_wish__install(void);
