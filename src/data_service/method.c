// Answers one call. Requests come from anybody who reaches the port: the decoder's limits hold, and
// a method never sees a message that could not be decoded. All that a call needs lies in its arena,
// which ends with it, so that no method frees anything. The methods are in dispatcher_methods.c and
// worker_methods.c.
#include "data_service/method.h"

#include "cluster/rpc_message.h"
#include "formats/wire/encode.h"

static const leat_data_method_t* find_method(const leat_data_endpoint_t* service,
                                             leat_string_view_t path) {
  if (!leat_string_view_starts_with(path, service->prefix)) return NULL;
  const leat_string_view_t name = leat_string_view_from_index(path, service->prefix.size);
  const leat_data_method_t* method = service->methods;
  while (method->name && !leat_string_view_equals(name, method->name)) ++method;
  return method->name ? method : NULL;
}

static leat_status_t serve(const leat_data_endpoint_t* service, leat_data_call_t* call,
                           leat_string_view_t bytes) {
  void *message = NULL, *answer = NULL;
  const leat_data_method_t* method = find_method(service, call->request->method);
  if (!method) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "Method '%.*s' is not served here",
                            LEAT_SV_ARG(call->request->method));
  }
  if (method->request) {
    LEAT_RETURN_IF_ERROR(
        leat_rpc_decode_request(bytes, &call->arena, method->request, &message));
  }
  if (method->answer) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate_array(&call->arena, 1, method->answer->size_bytes, &answer));
  }
  LEAT_RETURN_IF_ERROR(method->serve(service->server, call, message, answer));
  if (!method->answer) return leat_ok_status();
  return leat_message_encode(method->answer, answer, &call->answer);
}

void leat_data_endpoint_handle(void* data, leat_rpc_request_t* request) {
  leat_data_call_t call = {.request = request};
  leat_string_view_t bytes;
  char *joined = NULL, *text = NULL;
  size_t size = 0;
  leat_arena_initialize(leat_allocator_system(), 0, &call.arena);
  leat_string_builder_initialize(leat_allocator_system(), &call.answer);
  leat_status_t status =
      leat_rpc_bytes_join(request->bytes, leat_allocator_system(), &bytes, &joined);
  if (!status) status = serve(data, &call, bytes);
  if (!status) status = leat_string_builder_finish(&call.answer, &text, &size);
  leat_allocator_free(leat_allocator_system(), joined);
  leat_string_builder_deinitialize(&call.answer);
  leat_arena_deinitialize(&call.arena);
  const leat_rpc_piece_t piece = {text, size, leat_rpc_release_text, text};
  leat_rpc_answer(request, status, LEAT_SV(""), (leat_rpc_bytes_t){&piece, text != NULL});
}
