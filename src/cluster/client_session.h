// A session of a client whose master is another process: "grpc://host:port". The master may be a
// TensorFlow server or a Leat one. What a client needs of tensorflow.MasterService is here:
//
//   leat_session_create ─▶ CreateSession, ListDevices
//   leat_session_run    ─▶ ExtendSession, RunStep
//   leat_session_close  ─▶ CloseSession
//   TF_Reset            ─▶ Reset
//
// The graph goes to the master piece by piece: what was added since the last step goes before the
// next one. A master that was up and is gone fails calls with UNAVAILABLE at once.
#ifndef LEAT_CLUSTER_CLIENT_SESSION_H_
#define LEAT_CLUSTER_CLIENT_SESSION_H_

#include "session/session.h"

// Whether |target| names a master; |*out_address| is its "host:port" then, a part of |target|.
bool leat_client_session_is_target(leat_string_view_t target, leat_string_view_t* out_address);
// Makes a session at the master and fills |out_target| with it and with its devices. Waits for a
// master that is not up yet, and for the tasks that it waits for itself, until the options'
// operation_timeout_ms, if there is one: DEADLINE_EXCEEDED.
LEAT_MUST_USE leat_status_t leat_client_session_open(leat_string_view_t address,
                                                     const leat_session_options_t* options,
                                                     leat_allocator_t* allocator,
                                                     leat_target_t* out_target);
// Empties containers on all tasks of the master's cluster, and ends the master's sessions. With a
// |timeout_ms| it waits for a master that is not up yet: DEADLINE_EXCEEDED. With 0 it does not wait
// for one, which could be for ever: UNAVAILABLE.
LEAT_MUST_USE leat_status_t leat_client_session_reset(leat_string_view_t address,
                                                      const char* const* containers, size_t count,
                                                      int64_t timeout_ms);

#endif  // LEAT_CLUSTER_CLIENT_SESSION_H_
