// The registry of ops: a hash map from names to rows that is complete before the first look-up, a
// linked list of the rows that plugins add later, and a second map of rows that are only declared.
//
//   names ("MatMul" -> 17)      ops[17] = {row, op}      op is NULL until the first look-up
//   late -> late_op -> late_op -> NULL
//   declared -> names, ops                               NULL until a name is in neither of the two
//
// Look-ups run on any thread while graphs are built, so the usual one takes no lock: it reads the
// map, which no longer changes, and one atomic pointer. The first look-up of an op takes the mutex,
// parses the row into the arena and publishes the op by a store with release order; a second thread
// that comes meanwhile finds the op parsed when it gets the mutex. Parsing all of more than a
// thousand rows at start would cost milliseconds that a small program does not have. Rows of
// plugins cannot go into the map, which other threads read; each is parsed first and then appended
// to the list by one store, so that a reader sees either a complete element or none. The list is
// searched only after the map. The second map is made as a whole, with the mutex held, before the
// store that publishes it, and never changes after that.
#include <stdlib.h>
#include <string.h>

#include "graph/op/op.h"

#define USUAL_COUNT 1500        // ops for which there is room at first; more make the tables grow
#define NAMES_AHEAD 12          // rows whose names are prefetched while tables are added
#define BLOCK_BYTES (8 * 1024)  // a few parsed ops, which is all that most programs use

typedef struct registered_op_s {
  const leat_op_row_t* row;
  _Atomic(leat_op_t*) op;  // NULL until parsed
} registered_op_t;

// An op that a plugin added. Elements are never removed.
typedef struct late_op_s {
  leat_op_t* op;
  _Atomic(struct late_op_s*) next;
} late_op_t;

// The rows that are only declared.
typedef struct declared_ops_s {
  const leat_op_row_t* rows;  // end with a row without a name
  leat_string_map_t names;    // name -> index in |rows| and |ops|
  registered_op_t* ops;
} declared_ops_t;

// A family: its ops are those from |first| on, up to the next family's.
typedef struct family_s {
  const char* name;  // NULL: of ops that were added without one
  size_t first;
} family_t;

struct leat_op_registry_s {
  leat_allocator_t* allocator;
  leat_mutex_t mutex;  // held to parse, to extend and to declare; guards |arena|
  leat_arena_t arena;
  leat_string_map_t names;  // name -> index in |ops|; unchanged after start-up
  registered_op_t* ops;
  size_t capacity;
  const struct leat_rewrite_rule_s** rules;  // tables
  size_t rules_count, rules_capacity;
  family_t* families;
  size_t families_count, families_capacity;
  _Atomic(late_op_t*) late;  // the first of the plugins' ops
  _Atomic int late_count;
  leat_op_declare_fn_t declare;  // NULL: no op is only declared
  _Atomic(declared_ops_t*) declared;
};

leat_status_t leat_op_registry_create(leat_allocator_t* allocator,
                                      leat_op_registry_t** out_registry) {
  *out_registry = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(allocator, sizeof(leat_op_registry_t), &memory));
  leat_op_registry_t* registry = memory;
  registry->allocator = allocator;
  leat_mutex_initialize(&registry->mutex);
  leat_arena_initialize(allocator, BLOCK_BYTES, &registry->arena);
  leat_string_map_initialize(allocator, &registry->names);
  leat_status_t status = leat_string_map_reserve(&registry->names, USUAL_COUNT);
  void* ops = NULL;
  if (!status) {
    status = leat_allocator_grow_array(allocator, USUAL_COUNT, sizeof(registered_op_t), &ops,
                                       &registry->capacity);
  }
  registry->ops = ops;
  if (status) {
    leat_op_registry_free(registry);
    return status;
  }
  *out_registry = registry;
  return leat_ok_status();
}

static void release_defaults(const leat_string_map_t* names, registered_op_t* ops) {
  for (size_t i = 0; i < names->count; ++i) {
    leat_op_t* op = atomic_load(&ops[i].op);
    if (op) leat_op_release_defaults(op);
  }
}

void leat_op_registry_free(leat_op_registry_t* registry) {
  if (!registry) return;
  release_defaults(&registry->names, registry->ops);
  for (const late_op_t* l = atomic_load(&registry->late); l; l = atomic_load(&l->next)) {
    leat_op_release_defaults(l->op);
  }
  declared_ops_t* declared = atomic_load(&registry->declared);
  if (declared) {
    release_defaults(&declared->names, declared->ops);
    leat_string_map_deinitialize(&declared->names);
  }
  leat_string_map_deinitialize(&registry->names);
  leat_allocator_free(registry->allocator, registry->ops);
  leat_allocator_free(registry->allocator, registry->rules);
  leat_allocator_free(registry->allocator, registry->families);
  leat_arena_deinitialize(&registry->arena);
  leat_mutex_deinitialize(&registry->mutex);
  leat_allocator_free(registry->allocator, registry);
}

leat_status_t leat_op_registry_add_rules(leat_op_registry_t* registry,
                                         const struct leat_rewrite_rule_s* rules) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(registry->allocator, registry->rules_count + 1, &registry->rules,
                                 &registry->rules_capacity));
  registry->rules[registry->rules_count++] = rules;
  return leat_ok_status();
}

int leat_op_registry_rules_count(const leat_op_registry_t* registry) {
  return (int)registry->rules_count;
}

const struct leat_rewrite_rule_s* leat_op_registry_rules(const leat_op_registry_t* registry,
                                                         int index) {
  LEAT_DCHECK(index >= 0 && (size_t)index < registry->rules_count);
  return registry->rules[index];
}

// Replaces an alias by its whole row.
static leat_status_t complete_alias(leat_op_registry_t* registry,
                                    const leat_op_row_t** inout_row) {
  const leat_op_row_t* alias = *inout_row;
  const leat_op_row_t* row =
      leat_op_registry_find_row(registry, leat_string_view_from(alias->alias_of));
  if (row) return leat_op_row_complete(alias, row, &registry->arena, inout_row);
  return leat_make_status(LEAT_NOT_FOUND,
                          "Registering op '%s' failed: it is an alias of '%s', which must have "
                          "been registered before",
                          alias->name, alias->alias_of);
}

static leat_status_t add_row(leat_op_registry_t* registry, const leat_op_row_t* row) {
  if (row->alias_of) LEAT_RETURN_IF_ERROR(complete_alias(registry, &row));
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
  return leat_ok_status();
}

// Walks the rows of several tables as if they were one.
typedef struct row_cursor_s {
  const leat_op_row_t* const* tables;
  const leat_op_row_t* next;
} row_cursor_t;

// The next row, or NULL after the last one of the last table.
static inline const leat_op_row_t* take_row(row_cursor_t* cursor) {
  while (cursor->next && !cursor->next->name) cursor->next = *++cursor->tables;
  return cursor->next ? cursor->next++ : NULL;
}

// Prefetches the name of a row that is added soon. At start no name is in the processor's cache,
// and hashing each would wait for memory.
static inline void fetch_name(row_cursor_t* cursor) {
  const leat_op_row_t* row = take_row(cursor);
  if (row) __builtin_prefetch(row->name);
}

leat_status_t leat_op_registry_add_family(leat_op_registry_t* registry, const char* name,
                                          const leat_op_row_t* const* tables) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(registry->allocator, registry->families_count + 1,
                                 &registry->families, &registry->families_capacity));
  registry->families[registry->families_count++] = (family_t){name, registry->names.count};
  row_cursor_t rows = {tables, *tables}, ahead = rows;
  for (int i = 0; i < NAMES_AHEAD; ++i) fetch_name(&ahead);
  for (const leat_op_row_t* row; (row = take_row(&rows));) {
    fetch_name(&ahead);
    LEAT_RETURN_IF_ERROR(add_row(registry, row));
  }
  return leat_ok_status();
}

leat_status_t leat_op_registry_add(leat_op_registry_t* registry, const leat_op_row_t* rows) {
  return leat_op_registry_add_family(registry, NULL, (const leat_op_row_t* const[]){rows, NULL});
}

// ---- rows of plugins ----------------------------------------------------------------------------

// The plugin's op called |name|, or NULL. Where |out_end| is not NULL and the op is not found,
// |*out_end| becomes the link to which the next element must be appended.
static const leat_op_t* find_late(const leat_op_registry_t* registry, leat_string_view_t name,
                                  _Atomic(late_op_t*)** out_end) {
  _Atomic(late_op_t*)* link = (_Atomic(late_op_t*)*)&registry->late;
  late_op_t* l;
  while ((l = atomic_load_explicit(link, memory_order_acquire))) {
    if (leat_string_view_equal(l->op->name, name)) return l->op;
    link = &l->next;
  }
  if (out_end) *out_end = link;
  return NULL;
}

// Called with the mutex held, so that nobody else appends. The element is complete before the store
// that links it.
static leat_status_t extend_locked(leat_op_registry_t* registry, const leat_op_row_t* row) {
  leat_string_view_t name = leat_string_view_from(row->name);
  _Atomic(late_op_t*)* end = NULL;
  void* memory = NULL;
  if (leat_string_map_get(&registry->names, name, NULL) || find_late(registry, name, &end)) {
    return leat_make_status(LEAT_ALREADY_EXISTS, "Op with name %s", row->name);
  }
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&registry->arena, sizeof(late_op_t), &memory));
  late_op_t* late = memory;
  LEAT_RETURN_IF_ERROR(leat_op_parse(row, &registry->arena, &late->op));
  atomic_store_explicit(end, late, memory_order_release);
  atomic_fetch_add_explicit(&registry->late_count, 1, memory_order_release);
  return leat_ok_status();
}

leat_status_t leat_op_registry_extend(leat_op_registry_t* registry, const leat_op_row_t* row) {
  leat_mutex_lock(&registry->mutex);
  leat_status_t status = extend_locked(registry, row);
  leat_mutex_unlock(&registry->mutex);
  return status;
}

// ---- declared rows ------------------------------------------------------------------------------

void leat_op_registry_defer(leat_op_registry_t* registry, leat_op_declare_fn_t declare) {
  registry->declare = declare;
}

// Adds the names of |declared->rows|. A name that stands twice is a fault of the table.
static leat_status_t fill_names(declared_ops_t* declared, size_t count) {
  LEAT_RETURN_IF_ERROR(leat_string_map_reserve(&declared->names, count));
  for (size_t i = 0; i < count; ++i) {
    const leat_op_row_t* row = &declared->rows[i];
    bool inserted = false;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(
        &declared->names, leat_string_view_from(row->name), i, NULL, &inserted));
    LEAT_DCHECK(inserted);
    declared->ops[i].row = row;
  }
  return leat_ok_status();
}

// Makes the map of declared ops. Called with the mutex held.
static leat_status_t make_declared(leat_op_registry_t* registry, declared_ops_t** out_declared) {
  static const leat_op_row_t kNone[] = {{.name = 0}};
  declared_ops_t* declared;
  size_t count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&registry->arena, 1, &declared));
  declared->rows = registry->declare ? registry->declare() : kNone;
  while (declared->rows[count].name) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&registry->arena, count, &declared->ops));
  leat_string_map_initialize(registry->allocator, &declared->names);
  leat_status_t status = fill_names(declared, count);
  if (status) {
    leat_string_map_deinitialize(&declared->names);
    return status;
  }
  *out_declared = declared;
  return leat_ok_status();
}

// The declared ops, which are made by the first thread that asks.
static leat_status_t get_declared(leat_op_registry_t* registry, declared_ops_t** out_declared) {
  leat_status_t status = leat_ok_status();
  *out_declared = atomic_load_explicit(&registry->declared, memory_order_acquire);
  if (*out_declared) return status;
  leat_mutex_lock(&registry->mutex);
  *out_declared = atomic_load_explicit(&registry->declared, memory_order_relaxed);
  if (!*out_declared) {
    status = make_declared(registry, out_declared);
    if (!status) {
      atomic_store_explicit(&registry->declared, *out_declared, memory_order_release);
    }
  }
  leat_mutex_unlock(&registry->mutex);
  return status;
}

// ---- looking up ---------------------------------------------------------------------------------

// Parses the row of |registered| unless another thread has done so while this one waited for the
// mutex.
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

// The op called |name|, which is not among the rows that were added at start.
static leat_status_t find_elsewhere(leat_op_registry_t* registry, leat_string_view_t name,
                                    const leat_op_t** out_op) {
  declared_ops_t* declared;
  uint64_t index = 0;
  *out_op = find_late(registry, name, NULL);
  if (*out_op) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(get_declared(registry, &declared));
  if (leat_string_map_get(&declared->names, name, &index)) {
    return parse_once(registry, &declared->ops[index], out_op);
  }
  return leat_make_status(LEAT_NOT_FOUND,
                          "Op type not registered '%.*s' in binary: it is not among those that "
                          "`leat ops` lists",
                          LEAT_SV_ARG(name));
}

leat_status_t leat_op_registry_find(leat_op_registry_t* registry, leat_string_view_t name,
                                    const leat_op_t** out_op) {
  *out_op = NULL;
  uint64_t index = 0;
  if (LEAT_UNLIKELY(!leat_string_map_get(&registry->names, name, &index))) {
    return find_elsewhere(registry, name, out_op);
  }
  registered_op_t* registered = &registry->ops[index];
  leat_op_t* op = atomic_load_explicit(&registered->op, memory_order_acquire);
  if (LEAT_UNLIKELY(!op)) return parse_once(registry, registered, out_op);
  *out_op = op;
  return leat_ok_status();
}

const leat_op_row_t* leat_op_registry_find_row(const leat_op_registry_t* registry,
                                               leat_string_view_t name) {
  uint64_t index = 0;
  if (leat_string_map_get(&registry->names, name, &index)) return registry->ops[index].row;
  const leat_op_t* late = find_late(registry, name, NULL);
  return late ? late->row : NULL;
}

bool leat_op_registry_has(const leat_op_registry_t* registry, leat_string_view_t name) {
  return leat_op_registry_find_row(registry, name) != NULL;
}

const char* leat_op_registry_family(const leat_op_registry_t* registry, leat_string_view_t name) {
  uint64_t index = 0;
  if (!leat_string_map_get(&registry->names, name, &index)) return NULL;
  const family_t* family = registry->families + registry->families_count;
  while ((--family)->first > index) continue;
  return family->name;
}

int leat_op_registry_count(const leat_op_registry_t* registry) {
  return (int)registry->names.count +
         atomic_load_explicit(&registry->late_count, memory_order_acquire);
}

const leat_op_row_t* leat_op_registry_row(const leat_op_registry_t* registry, int index) {
  int count = (int)registry->names.count;
  if (index < count) return registry->ops[index].row;
  const late_op_t* late = atomic_load_explicit(&registry->late, memory_order_acquire);
  for (; index > count; --index) late = atomic_load_explicit(&late->next, memory_order_acquire);
  return late->op->row;
}

static int compare_names(const void* a, const void* b) {
  return strcmp((*(const leat_op_row_t* const*)a)->name, (*(const leat_op_row_t* const*)b)->name);
}

leat_status_t leat_op_registry_list(leat_op_registry_t* registry, bool with_declared,
                                    leat_arena_t* arena, const leat_op_row_t*** out_rows,
                                    size_t* out_count) {
  static const leat_string_map_t kNoNames;
  declared_ops_t* declared = NULL;
  if (with_declared) LEAT_RETURN_IF_ERROR(get_declared(registry, &declared));
  const leat_string_map_t* declared_names = declared ? &declared->names : &kNoNames;
  // Plugins may add rows meanwhile; those behind |added| are left out.
  size_t added = (size_t)leat_op_registry_count(registry), count = 0;
  const leat_op_row_t** rows;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, added + declared_names->count, &rows));
  for (; count < added; ++count) rows[count] = leat_op_registry_row(registry, (int)count);
  for (size_t i = 0; i < declared_names->count; ++i) {
    const leat_op_row_t* row = &declared->rows[i];
    if (!leat_op_registry_has(registry, leat_string_view_from(row->name))) rows[count++] = row;
  }
  qsort(rows, count, sizeof *rows, compare_names);
  *out_rows = rows;
  *out_count = count;
  return leat_ok_status();
}
