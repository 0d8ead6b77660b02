// A kernel that asks the dispatcher of tf.data's service one question after the other. It holds no
// thread meanwhile, waits an hour for a dispatcher that is not up, as TensorFlow does, and ends
// when its step does:
//
//   leat_service_asking_begin ─▶ ask ─▶ answer ─▶ ask ─▶ answer ─▶ leat_service_asking_finish
#ifndef LEAT_OPS_DATASET_DATA_SERVICE_ASKING_CPU_H_
#define LEAT_OPS_DATASET_DATA_SERVICE_ASKING_CPU_H_

#include "kernel/kernel.h"
#include "ops/dataset/data_service_call_cpu.h"

// The first member of what a kernel keeps while it asks.
typedef struct leat_service_asking_s {
  leat_kernel_context_t* context;
  leat_kernel_done_fn_t done;
  leat_service_peer_t* dispatcher;
  int64_t gives_up_ns;
} leat_service_asking_t;

// Reads the address of a dispatcher at input |index| of the kernel and, unless it is negative, the
// protocol at |protocol|. INVALID_ARGUMENT where one of them is empty; NOT_FOUND for a protocol
// other than grpc. The address is borrowed.
LEAT_MUST_USE leat_status_t leat_service_read_address(const leat_kernel_context_t* c, int index,
                                                      int protocol,
                                                      leat_string_view_t* out_address);
// Allocates |bytes|, zeroed, for a struct that begins with leat_service_asking_t.
LEAT_MUST_USE leat_status_t leat_service_asking_begin(leat_kernel_context_t* c,
                                                      leat_kernel_done_fn_t done,
                                                      leat_string_view_t address, size_t bytes,
                                                      leat_service_asking_t** out_asking);
// Asks; |on_answer| gets |asking| as its data, and may be called before the function returns.
void leat_service_ask(leat_service_asking_t* asking, const leat_service_question_t* method,
                      const void* request, leat_remote_done_fn_t on_answer);
// Decodes |answer|, unless |status| is a failure, which is returned; all of |out_message| lies in
// |arena|, which is initialized in each case.
LEAT_MUST_USE leat_status_t leat_service_decode(const leat_message_descriptor_t* descriptor,
                                                leat_status_t status, leat_string_view_t answer,
                                                leat_arena_t* out_arena, void* out_message);
// Frees |asking| and reports that the kernel is done.
void leat_service_asking_finish(leat_service_asking_t* asking, leat_status_t status);

#endif  // LEAT_OPS_DATASET_DATA_SERVICE_ASKING_CPU_H_
