// Unique names of a graph (leat/names.h). The table maps each name, in lower case, to the number
// that a further asker would try first, as TensorFlow's Graph does. Names of operations that nobody
// asked a name for, those of a GraphDef say, enter it when the next name is asked for: the table
// knows how many nodes it has seen. It lies in the TF_Graph and is guarded by the graph's lock.
#include "leat/names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "capi/handles.h"
#include "capi/leat/names.h"

struct leat_capi_names_s {
  leat_arena_t arena;        // the keys
  leat_string_map_t in_use;  // name in lower case -> next number
  size_t nodes_seen;
};

void leat_capi_names_free(leat_capi_names_t* names) {
  if (!names) return;
  leat_string_map_deinitialize(&names->in_use);
  leat_arena_deinitialize(&names->arena);
  leat_allocator_free(leat_allocator_system(), names);
}

static leat_status_t names_of(TF_Graph* graph, leat_capi_names_t** out_names) {
  if (!graph->names) {
    leat_capi_names_t* names = NULL;
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &names));
    leat_arena_initialize(leat_allocator_system(), 0, &names->arena);
    leat_string_map_initialize(leat_allocator_system(), &names->in_use);
    graph->names = names;
  }
  *out_names = graph->names;
  return leat_ok_status();
}

// A copy of |name| in lower case with |room| more bytes behind it. Only ASCII has cases in names of
// operations.
static leat_status_t key_make(leat_arena_t* arena, leat_string_view_t name, size_t room,
                              leat_string_view_t* out_key) {
  char* text = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, name.size + room + 1, &text));
  for (size_t i = 0; i < name.size; ++i) {
    char c = name.data[i];
    text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  *out_key = leat_string_view_make(text, name.size);
  return leat_ok_status();
}

// Enters the names of the nodes that were added since the last call.
static leat_status_t see_nodes(leat_capi_names_t* names, const leat_graph_t* graph) {
  for (; names->nodes_seen < graph->node_count; ++names->nodes_seen) {
    const leat_node_t* node = leat_graph_node(graph, (int32_t)names->nodes_seen);
    leat_string_view_t key;
    LEAT_RETURN_IF_ERROR(key_make(&names->arena, node->name, 0, &key));
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&names->in_use, key, 1, NULL, NULL));
  }
  return leat_ok_status();
}

#define MAX_NUMBER_LENGTH 24  // "_" and the digits of a 64-bit number

// Finds the name and, with |mark|, takes it. |*out_number| is the number behind it, or -1.
static leat_status_t find_name(leat_capi_names_t* names, leat_string_view_t name, bool mark,
                               int64_t* out_number) {
  leat_string_view_t base, key;
  uint64_t number = 0;
  *out_number = -1;
  LEAT_RETURN_IF_ERROR(key_make(&names->arena, name, MAX_NUMBER_LENGTH, &key));
  leat_string_map_get(&names->in_use, key, &number);
  if (number == 0) {
    return mark ? leat_string_map_set(&names->in_use, key, 1) : leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(key_make(&names->arena, name, 0, &base));
  char* end = (char*)key.data + name.size;
  uint64_t next = number;
  do {
    *out_number = (int64_t)next;
    key.size = name.size + (size_t)snprintf(end, MAX_NUMBER_LENGTH, "_%llu",
                                            (unsigned long long)next++);
  } while (leat_string_map_get(&names->in_use, key, NULL));
  if (!mark) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_string_map_set(&names->in_use, base, number + 1));
  return leat_string_map_set(&names->in_use, key, 1);
}

char* leat_unique_name(TF_Graph* graph, const char* name, int mark, TF_Status* status) {
  leat_status_t result = leat_ok_status();
  if (!name) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Finding a name failed: name is NULL, must be a text");
    leat_capi_status_set(status, result);
    return NULL;
  }
  leat_string_view_t text = leat_string_view_from(name);
  leat_capi_names_t* names = NULL;
  int64_t number = -1;
  leat_graph_t* g = leat_capi_lock(graph);
  result = names_of(graph, &names);
  if (!result) result = see_nodes(names, g);
  if (!result) result = find_name(names, text, mark != 0, &number);
  leat_capi_unlock(graph);
  char* unique = NULL;
  if (!result) {
    unique = malloc(text.size + MAX_NUMBER_LENGTH + 1);
    if (!unique) {
      result = leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Finding a name failed: no memory");
    } else if (number < 0) {
      memcpy(unique, name, text.size + 1);
    } else {
      snprintf(unique, text.size + MAX_NUMBER_LENGTH + 1, "%s_%lld", name, (long long)number);
    }
  }
  leat_capi_status_set(status, result);
  return unique;
}
