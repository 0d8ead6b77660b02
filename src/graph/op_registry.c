// Rows by name in a hash map; an op is parsed when it is first asked for and published by one
// atomic store, so that later look-ups take no lock.
#include "graph/op.h"

typedef struct registered_op_s {
  const leat_op_row_t* row;
  _Atomic(leat_op_t*) op;  // NULL until parsed
} registered_op_t;

struct leat_op_registry_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;  // of parsing: |arena|
  leat_arena_t arena;
  leat_string_map_t names;  // -> index in |ops|
  registered_op_t* ops;
  size_t capacity;
};

leat_status_t leat_op_registry_create(leat_allocator_t* allocator,
                                      leat_op_registry_t** out_registry) {
  *out_registry = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(leat_op_registry_t), &memory));
  leat_op_registry_t* registry = memory;
  registry->allocator = allocator;
  leat_mutex_initialize(&registry->mutex);
  leat_arena_initialize(allocator, 0, &registry->arena);
  leat_string_map_initialize(allocator, &registry->names);
  *out_registry = registry;
  return leat_ok_status();
}

void leat_op_registry_free(leat_op_registry_t* registry) {
  if (!registry) return;
  for (size_t i = 0; i < registry->names.count; ++i) {
    leat_op_t* op = atomic_load(&registry->ops[i].op);
    if (op) leat_op_release_defaults(op);
  }
  leat_string_map_deinitialize(&registry->names);
  leat_allocator_free(registry->allocator, registry->ops);
  leat_arena_deinitialize(&registry->arena);
  leat_mutex_deinitialize(&registry->mutex);
  leat_allocator_free(registry->allocator, registry);
}

leat_status_t leat_op_registry_add(leat_op_registry_t* registry, const leat_op_row_t* rows) {
  for (const leat_op_row_t* row = rows; row->name; ++row) {
    void* ops = registry->ops;
    size_t index = registry->names.count;
    LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(registry->allocator, index + 1,
                                                   sizeof(registered_op_t), &ops,
                                                   &registry->capacity));
    registry->ops = ops;
    bool inserted = false;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&registry->names, leat_string_view_from(row->name),
                                                index, NULL, &inserted));
    if (!inserted) {
      return leat_make_status(LEAT_ALREADY_EXISTS,
                              "Registering op '%s' failed: name is taken, must be new", row->name);
    }
    registry->ops[index].row = row;
  }
  return leat_ok_status();
}

static leat_status_t parse_once(leat_op_registry_t* registry, registered_op_t* registered,
                                const leat_op_t** out_op) {
  leat_mutex_lock(&registry->mutex);
  leat_status_t status = leat_ok_status();
  leat_op_t* op = atomic_load_explicit(&registered->op, memory_order_acquire);
  if (!op) {
    status = leat_op_parse(registered->row, &registry->arena, &op);
    if (!status) atomic_store_explicit(&registered->op, op, memory_order_release);
  }
  leat_mutex_unlock(&registry->mutex);
  *out_op = op;
  return status;
}

leat_status_t leat_op_registry_find(leat_op_registry_t* registry, leat_string_view_t name,
                                    const leat_op_t** out_op) {
  *out_op = NULL;
  uint64_t index = 0;
  if (!leat_string_map_get(&registry->names, name, &index)) {
    return leat_make_status(LEAT_NOT_FOUND,
                            "Op type not registered '%.*s' in this library. `leat ops` lists the "
                            "ops that are.",
                            LEAT_SV_ARG(name));
  }
  registered_op_t* registered = &registry->ops[index];
  leat_op_t* op = atomic_load_explicit(&registered->op, memory_order_acquire);
  if (LEAT_UNLIKELY(!op)) return parse_once(registry, registered, out_op);
  *out_op = op;
  return leat_ok_status();
}

bool leat_op_registry_has(const leat_op_registry_t* registry, leat_string_view_t name) {
  return leat_string_map_get(&registry->names, name, NULL);
}

int leat_op_registry_count(const leat_op_registry_t* registry) {
  return (int)registry->names.count;
}

const leat_op_row_t* leat_op_registry_row(const leat_op_registry_t* registry, int index) {
  return registry->ops[index].row;
}
