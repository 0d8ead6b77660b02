// Questions of kernels to a dispatcher (ops/dataset/data_service_asking_cpu.h).
#include "ops/dataset/data_service_asking_cpu.h"

#include "formats/wire/decode.h"
#include "ops/dataset/dataset_cpu.h"

#define PATIENCE_NS (INT64_C(3600) * 1000000000)

leat_status_t leat_service_read_address(const leat_kernel_context_t* c, int index, int protocol,
                                        leat_string_view_t* out_address) {
  leat_string_view_t text = LEAT_SV("grpc");
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, index, "address", out_address));
  if (!out_address->size) return leat_kernel_invalid(c, "address must be non-empty.");
  if (protocol >= 0) {
    LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, protocol, "protocol", &text));
  }
  if (!text.size) return leat_kernel_invalid(c, "protocol must be non-empty.");
  if (leat_string_view_equals(text, "grpc")) return leat_ok_status();
  return leat_kernel_error(c, LEAT_NOT_FOUND,
                           "No credentials factory has been registered for protocol %.*s. The "
                           "available types are: [ grpc ]",
                           LEAT_SV_ARG(text));
}

leat_status_t leat_service_asking_begin(leat_kernel_context_t* c, leat_kernel_done_fn_t done,
                                        leat_string_view_t address, size_t bytes,
                                        leat_service_asking_t** out_asking) {
  leat_service_asking_t* asking;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), bytes, (void**)&asking));
  asking->context = c;
  asking->done = done;
  asking->gives_up_ns = leat_clock_now_ns() + PATIENCE_NS;
  leat_status_t status = leat_service_peer_create(address, true, &asking->dispatcher);
  if (status) {
    leat_allocator_free(leat_allocator_system(), asking);
    return status;
  }
  *out_asking = asking;
  return leat_ok_status();
}

void leat_service_ask(leat_service_asking_t* asking, const leat_service_question_t* method,
                      const void* request, leat_remote_done_fn_t on_answer) {
  leat_service_call(
      &(leat_service_request_t){.peer = asking->dispatcher,
                                .method = method,
                                .request = request,
                                .gives_up_ns = asking->gives_up_ns,
                                .cancellation = asking->context->services->cancellation,
                                .done = on_answer,
                                .data = asking});
}

leat_status_t leat_service_decode(const leat_message_descriptor_t* descriptor, leat_status_t status,
                                  leat_string_view_t answer, leat_arena_t* out_arena,
                                  void* out_message) {
  leat_arena_initialize(leat_allocator_system(), 1024, out_arena);
  return status ? status : leat_message_decode(descriptor, answer, out_arena, NULL, out_message);
}

void leat_service_asking_finish(leat_service_asking_t* asking, leat_status_t status) {
  leat_kernel_context_t* c = asking->context;
  leat_kernel_done_fn_t done = asking->done;
  leat_service_peer_release(asking->dispatcher);
  leat_allocator_free(leat_allocator_system(), asking);
  done(c, status);
}
