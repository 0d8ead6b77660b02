// GraphDefs written as text.
#ifndef LEAT_TESTS_TOY_GRAPH_GRAPH_TEXT_H_
#define LEAT_TESTS_TOY_GRAPH_GRAPH_TEXT_H_

#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "toy_graph/toy_ops.h"

// Appends the encoded bytes of |text|: messages that stand in a row are one.
static inline void toy_append_graph(const char* text, leat_string_builder_t* bytes) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_pb_graph_def_t message;
  toy_ok(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_view_from(text), &arena,
                         &message));
  toy_ok(leat_message_encode(&leat_pb_graph_def_descriptor, &message, bytes));
  leat_arena_deinitialize(&arena);
}

#endif  // LEAT_TESTS_TOY_GRAPH_GRAPH_TEXT_H_
