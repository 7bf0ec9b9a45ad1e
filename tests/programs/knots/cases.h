/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases of `knots`: each adds its vertices to the graph, and runs them. */
#pragma once

/* flow.c */
void case_pipeline(void);
void case_pipeline_fsync(void);
void case_full(void);
void case_empty(void);
void case_io(void);
void case_pipe(void);
void case_rpc(void);

/* locks.c */
void case_lock(void);
void case_imbalance(void);
void case_heartbeat(void);
void case_per_request(void);
void case_broadcast(void);
void case_spin(void);
