// Messages of an eager client, written as text, for tests of tensorflow.eager.EagerService: of a
// client whose context has the number 77 on each task of the scene.
#ifndef LEAT_TESTS_CLUSTER_EAGER_TEXT_H_
#define LEAT_TESTS_CLUSTER_EAGER_TEXT_H_

#include <stdlib.h>

#include "cluster/cluster_scene.h"
#include "cluster/eager_context.h"
#include "formats/wire/tensor_content.h"
#include "formats/wire/text.h"

#define SERVICE "/tensorflow.eager.EagerService/"
#define CONTEXT "context_id: 77 "
// Declares an argument or a return.
#define FLOAT(kind, name) kind "_arg { name: '" name "' type: DT_FLOAT } "
// An item that registers a function.
#define REGISTER(name, arguments, node, attrs, rest)                                          \
  "queue { register_function { is_component_function: true function_def { signature { name: '" \
  name "' " arguments " } node_def { name: 'n' op: '" node "' " attrs " } " rest " } } } "
// An argument of a call: the number 3.
#define THREE "op_inputs { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } "

// Makes the context on a task.
static inline void eager_create_context(cluster_scene_t* cluster, int task) {
  const leat_pb_create_context_request_t request = {.context_id = 77};
  cluster_call(cluster, task, SERVICE "CreateContext",
               &leat_pb_create_context_request_descriptor, &request, LEAT_OK, "");
}

// Begins a call whose message is |text|.
static inline void eager_start(cluster_scene_t* cluster, int task, const char* method,
                               const leat_message_descriptor_t* descriptor, const char* text,
                               cluster_call_t* out_call) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  void* message = calloc(1, descriptor->size_bytes);
  LEAT_EXPECT_OK(leat_text_parse(descriptor, leat_string_view_from(text), &arena, message));
  cluster_call_start(cluster, task, method, descriptor, message, out_call);
  leat_arena_deinitialize(&arena);
  free(message);
}

// Has a task work on a queue.
static inline void eager_enqueue(cluster_scene_t* cluster, int task, const char* text,
                                 leat_status_code_t code, const char* says) {
  cluster_call_t call;
  eager_start(cluster, task, SERVICE "Enqueue", &leat_pb_enqueue_request_descriptor, text,
              &call);
  cluster_call_expect(&call, code, says, NULL, NULL);
  cluster_call_free(&call);
}

#endif  // LEAT_TESTS_CLUSTER_EAGER_TEXT_H_
