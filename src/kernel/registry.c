// Rows of kernels by op. There are thousands of rows, and a program uses a few dozen, so everything
// is done late: adding a row costs one hash for each op, and a row's constraints are parsed when
// its op is first looked up.
//
//   lists: op -> entry -> entry -> NULL          tables added before the first look-up
//   late:  entry -> entry -> NULL                rows of plugins, of any op, added at any time
//   parser->filled: another registry             rows that were deferred until somebody looked
//
// Look-ups run on many threads without a lock: a list is published as parsed by one atomic flag and
// never changes afterwards, late entries are parsed before the store that links them, and a
// deferred registry is complete before it is seen. A look-up asks all three and takes the row of
// the highest priority, the first among equals.
#include "kernel/registry.h"

#define USUAL_COUNT 1500  // ops whose kernels are deferred; more make the map grow

// "T: float, double": the types that attribute |attr| may have.
typedef struct leat_kernel_constraint_s {
  leat_string_view_t attr;
  leat_dtype_set_t types;
} leat_kernel_constraint_t;

typedef struct leat_kernel_entry_s leat_kernel_entry_t;
struct leat_kernel_entry_s {
  const leat_kernel_row_t* row;
  _Atomic(leat_kernel_entry_t*) next;  // of the same op
  const leat_kernel_constraint_t* constraints;
  int constraint_count;
};

// The rows of one op, in the order of registration.
typedef struct leat_kernel_list_s {
  leat_kernel_entry_t* first;
  leat_kernel_entry_t* last;
  _Atomic bool is_parsed;
} leat_kernel_list_t;

// The part of a registry that look-ups change; they see the registry itself as const.
typedef struct leat_kernel_parser_s {
  leat_mutex_t mutex;
  leat_arena_t arena;
  _Atomic(leat_kernel_registry_t*) filled;  // has the rows that were deferred
} leat_kernel_parser_t;

struct leat_kernel_registry_s {
  leat_allocator_t* allocator;
  leat_string_map_t lists;       // op -> leat_kernel_list_t*
  leat_kernel_entry_t** tables;  // in the order of registration; each ends without a row
  size_t table_count;
  size_t table_capacity;
  leat_kernel_parser_t* parser;
  leat_kernel_fill_fn_t fill;          // NULL: no rows are deferred
  _Atomic(leat_kernel_entry_t*) late;  // rows of plugins, of any op
};

leat_status_t leat_kernel_registry_create(leat_allocator_t* allocator,
                                          leat_kernel_registry_t** out_registry) {
  void* memory = NULL;
  *out_registry = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      allocator, sizeof(leat_kernel_registry_t) + sizeof(leat_kernel_parser_t), &memory));
  leat_kernel_registry_t* registry = memory;
  registry->allocator = allocator;
  registry->parser = (leat_kernel_parser_t*)(registry + 1);
  leat_mutex_initialize(&registry->parser->mutex);
  leat_arena_initialize(allocator, 0, &registry->parser->arena);
  leat_string_map_initialize(allocator, &registry->lists);
  *out_registry = registry;
  return leat_ok_status();
}

void leat_kernel_registry_free(leat_kernel_registry_t* registry) {
  if (!registry) return;
  leat_kernel_registry_free(atomic_load(&registry->parser->filled));
  leat_string_map_deinitialize(&registry->lists);
  leat_arena_deinitialize(&registry->parser->arena);
  leat_mutex_deinitialize(&registry->parser->mutex);
  leat_allocator_free(registry->allocator, registry->tables);
  leat_allocator_free(registry->allocator, registry);
}

// ---- Adding -------------------------------------------------------------------------------------

static leat_status_t list_of(leat_kernel_registry_t* registry, const char* op,
                             leat_kernel_list_t** out_list) {
  uint64_t* value = NULL;
  bool inserted = false;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&registry->lists, leat_string_view_from(op), 0,
                                              &value, &inserted));
  if (*value == 0) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_allocate(&registry->parser->arena, sizeof(leat_kernel_list_t), &memory));
    *value = (uint64_t)(uintptr_t)memory;
  }
  LEAT_DCHECK(*value != 0);
  *out_list = (leat_kernel_list_t*)(uintptr_t)*value;
  return leat_ok_status();
}

static void append_entry(leat_kernel_list_t* list, leat_kernel_entry_t* entry) {
  LEAT_DCHECK(!list->first == !list->last);
  // A list that has been looked up may not grow, because the new row would never be parsed.
  LEAT_DCHECK(!atomic_load_explicit(&list->is_parsed, memory_order_relaxed));
  if (list->last) {
    list->last->next = entry;
  } else {
    list->first = entry;
  }
  list->last = entry;
}

static leat_status_t add_table(leat_kernel_registry_t* registry, leat_kernel_entry_t* table) {
  void* tables = registry->tables;
  leat_status_t status =
      leat_allocator_grow_array(registry->allocator, registry->table_count + 1,
                                sizeof(leat_kernel_entry_t*), &tables, &registry->table_capacity);
  registry->tables = tables;
  if (!status) registry->tables[registry->table_count++] = table;
  return status;
}

leat_status_t leat_kernel_registry_add(leat_kernel_registry_t* registry,
                                       const leat_kernel_row_t* rows) {
  size_t count = 0;
  void* memory = NULL;
  while (rows[count].op) ++count;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&registry->parser->arena, count + 1,
                                                 sizeof(leat_kernel_entry_t), &memory));
  leat_kernel_entry_t* table = memory;
  LEAT_RETURN_IF_ERROR(add_table(registry, table));
  leat_kernel_list_t* list = NULL;
  for (size_t i = 0; i < count; ++i) {
    // A source file lists the rows of an op one after another, so the last list is usually right.
    if (!list || strcmp(rows[i].op, rows[i - 1].op) != 0) {
      LEAT_RETURN_IF_ERROR(list_of(registry, rows[i].op, &list));
    }
    table[i].row = &rows[i];
    append_entry(list, &table[i]);
  }
  return leat_ok_status();
}

// ---- Filling ------------------------------------------------------------------------------------

void leat_kernel_registry_defer(leat_kernel_registry_t* registry, leat_kernel_fill_fn_t fill) {
  registry->fill = fill;
}

// Fills a registry with the deferred rows, and publishes it when it is complete. Called with the
// mutex held.
static leat_status_t fill_locked(const leat_kernel_registry_t* registry,
                                 leat_kernel_registry_t** out_filled) {
  LEAT_DCHECK(registry->fill);
  *out_filled = atomic_load_explicit(&registry->parser->filled, memory_order_relaxed);
  if (*out_filled) return leat_ok_status();
  leat_kernel_registry_t* filled = NULL;
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_create(registry->allocator, &filled));
  // A map that grows on the way copies its entries into fresh pages eight times.
  leat_status_t status = leat_string_map_reserve(&filled->lists, USUAL_COUNT);
  if (!status) status = registry->fill(filled);
  if (status) {
    leat_kernel_registry_free(filled);
    return status;
  }
  atomic_store_explicit(&registry->parser->filled, filled, memory_order_release);
  *out_filled = filled;
  return status;
}

// The registry of the deferred rows; NULL when none were deferred.
static leat_status_t filled_of(const leat_kernel_registry_t* registry,
                               leat_kernel_registry_t** out_filled) {
  *out_filled = atomic_load_explicit(&registry->parser->filled, memory_order_acquire);
  if (LEAT_LIKELY(*out_filled || !registry->fill)) return leat_ok_status();
  leat_mutex_lock(&registry->parser->mutex);
  leat_status_t status = fill_locked(registry, out_filled);
  leat_mutex_unlock(&registry->parser->mutex);
  return status;
}

// ---- Constraints: "T: float, double; Tidx: int32" -----------------------------------------------

static leat_status_t malformed(const leat_kernel_row_t* row, leat_string_view_t where) {
  return leat_make_status(LEAT_INTERNAL,
                          "Kernel registration failed for op %s on %s: constraint is '%.*s', must "
                          "be 'attribute: type, type'",
                          row->op, row->device_type, LEAT_SV_ARG(where));
}

// Cuts the text before |separator|, trimmed, off |inout_text|.
static leat_string_view_t next_part(leat_string_view_t* inout_text, char separator) {
  size_t end = leat_string_view_find(*inout_text, separator);
  leat_string_view_t part = *inout_text;
  if (end != SIZE_MAX) part.size = end;
  *inout_text = leat_string_view_from_index(*inout_text, end == SIZE_MAX ? end : end + 1);
  return leat_string_view_trim(part);
}

static leat_status_t parse_constraint(const leat_kernel_row_t* row, leat_string_view_t text,
                                      leat_kernel_constraint_t* out_constraint) {
  leat_string_view_t types = text;
  out_constraint->attr = next_part(&types, ':');
  if (out_constraint->attr.size == 0 || types.size == 0) return malformed(row, text);
  while (types.size > 0) {
    leat_dtype_t dtype = leat_dtype_from_name(next_part(&types, ','));
    if (dtype == LEAT_DTYPE_INVALID) return malformed(row, text);
    out_constraint->types |= UINT64_C(1) << leat_dtype_base(dtype);
  }
  return leat_ok_status();
}

// Parses the constraints of a row, which semicolons separate.
static leat_status_t parse_entry(leat_arena_t* arena, leat_kernel_entry_t* entry) {
  const char* text = entry->row->constraints;
  void* memory = NULL;
  size_t most = 1;
  if (!text || !*text) return leat_ok_status();
  for (const char* c = text; *c; ++c) most += *c == ';';
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, most, sizeof(leat_kernel_constraint_t), &memory));
  leat_kernel_constraint_t* constraints = memory;
  int count = 0;
  for (leat_string_view_t rest = leat_string_view_from(text); rest.size > 0;) {
    leat_string_view_t part = next_part(&rest, ';');
    if (part.size == 0) continue;
    LEAT_RETURN_IF_ERROR(parse_constraint(entry->row, part, &constraints[count++]));
  }
  entry->constraints = constraints;
  LEAT_DCHECK((size_t)count <= most);
  entry->constraint_count = count;
  return leat_ok_status();
}

static leat_status_t parse_list(leat_kernel_parser_t* parser, leat_kernel_list_t* list) {
  leat_status_t status = leat_ok_status();
  if (LEAT_LIKELY(atomic_load_explicit(&list->is_parsed, memory_order_acquire))) return status;
  leat_mutex_lock(&parser->mutex);
  if (!atomic_load_explicit(&list->is_parsed, memory_order_relaxed)) {
    for (leat_kernel_entry_t* e = list->first; e && !status; e = e->next) {
      status = parse_entry(&parser->arena, e);
    }
    if (!status) atomic_store_explicit(&list->is_parsed, true, memory_order_release);
  }
  leat_mutex_unlock(&parser->mutex);
  return status;
}

// ---- Rows of plugins ----------------------------------------------------------------------------

static leat_status_t extend_locked(leat_kernel_registry_t* registry,
                                   const leat_kernel_row_t* row) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate(&registry->parser->arena, sizeof(leat_kernel_entry_t), &memory));
  leat_kernel_entry_t* entry = memory;
  entry->row = row;
  LEAT_RETURN_IF_ERROR(parse_entry(&registry->parser->arena, entry));
  _Atomic(leat_kernel_entry_t*)* link = &registry->late;
  for (leat_kernel_entry_t* e; (e = atomic_load_explicit(link, memory_order_relaxed));) {
    link = &e->next;
  }
  LEAT_DCHECK(!atomic_load_explicit(&entry->next, memory_order_relaxed));
  atomic_store_explicit(link, entry, memory_order_release);
  return leat_ok_status();
}

leat_status_t leat_kernel_registry_extend(leat_kernel_registry_t* registry,
                                          const leat_kernel_row_t* row) {
  leat_mutex_lock(&registry->parser->mutex);
  leat_status_t status = extend_locked(registry, row);
  leat_mutex_unlock(&registry->parser->mutex);
  return status;
}

static const leat_kernel_entry_t* next_of(const leat_kernel_entry_t* entry) {
  return atomic_load_explicit((_Atomic(leat_kernel_entry_t*)*)&entry->next, memory_order_acquire);
}

static const leat_kernel_entry_t* first_late(const leat_kernel_registry_t* registry) {
  return atomic_load_explicit((_Atomic(leat_kernel_entry_t*)*)&registry->late,
                              memory_order_acquire);
}

// ---- Finding ------------------------------------------------------------------------------------

static bool type_is_allowed(const leat_attr_value_t* value, leat_dtype_set_t types) {
  if (value->is_list) {
    for (uint32_t i = 0; i < value->count; ++i) {
      if (!leat_dtype_in(leat_dtype_base(value->types[i]), types)) return false;
    }
    return value->count == 0 || value->kind == LEAT_ATTR_TYPE;
  }
  return value->kind == LEAT_ATTR_TYPE && leat_dtype_in(leat_dtype_base(value->type), types);
}

// Whether the node's attributes meet the row's constraints. |*out_missing| is set to an attribute
// that the row constrains and the node lacks.
static bool entry_serves(const leat_kernel_entry_t* entry, const leat_attr_t* attrs,
                         int attr_count, leat_string_view_t* out_missing) {
  for (int i = 0; i < entry->constraint_count; ++i) {
    const leat_kernel_constraint_t* constraint = &entry->constraints[i];
    const leat_attr_value_t* value = leat_attr_find(attrs, attr_count, constraint->attr);
    if (LEAT_UNLIKELY(!value)) {
      *out_missing = constraint->attr;
      return false;
    }
    if (!type_is_allowed(value, constraint->types)) return false;
  }
  return true;
}

typedef struct search_s {
  const leat_attr_t* attrs;
  int attr_count;
  leat_string_view_t device_type;
  const leat_kernel_row_t* row;  // the best so far
  bool has_device;               // rows for this kind of device exist
  leat_string_view_t missing;
} search_t;

// Whether the node's "_kernel" is the row's label; nearly always neither has one.
static bool label_agrees(const search_t* s, const leat_kernel_row_t* row) {
  const leat_attr_value_t* value = leat_attr_find(s->attrs, s->attr_count, LEAT_SV("_kernel"));
  bool is_text = value && value->kind == LEAT_ATTR_STRING && !value->is_list;
  return leat_string_view_equals(is_text ? value->s : LEAT_SV(""), row->label ? row->label : "");
}

static void consider(search_t* s, const leat_kernel_entry_t* e) {
  LEAT_DCHECK(e->row && e->row->device_type);
  if (!leat_string_view_equals(s->device_type, e->row->device_type)) return;
  s->has_device = true;
  if (s->row && e->row->priority <= s->row->priority) return;
  if (!entry_serves(e, s->attrs, s->attr_count, &s->missing)) return;
  if (label_agrees(s, e->row)) s->row = e->row;
}

static leat_status_t search_list(const leat_kernel_registry_t* registry, leat_string_view_t op,
                                 search_t* s) {
  uint64_t value = 0;
  if (!leat_string_map_get(&registry->lists, op, &value)) return leat_ok_status();
  leat_kernel_list_t* list = (leat_kernel_list_t*)(uintptr_t)value;
  LEAT_RETURN_IF_ERROR(parse_list(registry->parser, list));
  for (const leat_kernel_entry_t* e = list->first; e; e = e->next) consider(s, e);
  return leat_ok_status();
}

static leat_status_t search_type(const leat_kernel_registry_t* registry, const leat_op_t* op,
                                 search_t* out_search) {
  leat_kernel_registry_t* filled = NULL;
  LEAT_RETURN_IF_ERROR(filled_of(registry, &filled));
  if (filled) LEAT_RETURN_IF_ERROR(search_list(filled, op->name, out_search));
  LEAT_RETURN_IF_ERROR(search_list(registry, op->name, out_search));
  for (const leat_kernel_entry_t* e = first_late(registry); e; e = next_of(e)) {
    if (leat_string_view_equals(op->name, e->row->op)) consider(out_search, e);
  }
  return leat_ok_status();
}

static leat_status_t search(const leat_kernel_registry_t* registry, const leat_op_t* op,
                            const leat_attr_t* attrs, int attr_count,
                            leat_string_view_t device_type, search_t* out_search) {
  *out_search = (search_t){
      .attrs = attrs, .attr_count = attr_count, .device_type = device_type};
  LEAT_RETURN_IF_ERROR(search_type(registry, op, out_search));
  if (out_search->row || leat_string_view_equals(device_type, "CPU")) return leat_ok_status();
  search_t in_default = *out_search;
  in_default.device_type = LEAT_SV(LEAT_KERNEL_DEFAULT_DEVICE);
  LEAT_RETURN_IF_ERROR(search_type(registry, op, &in_default));
  out_search->row = in_default.row;
  return leat_ok_status();
}

leat_status_t leat_kernel_registry_probe(const leat_kernel_registry_t* registry,
                                         const leat_op_t* op, const leat_attr_t* attrs,
                                         int attr_count, leat_string_view_t device_type,
                                         const leat_kernel_row_t** out_row) {
  search_t found;
  leat_status_t status = search(registry, op, attrs, attr_count, device_type, &found);
  *out_row = found.row;
  return status;
}

leat_status_t leat_kernel_registry_find(const leat_kernel_registry_t* registry, const leat_op_t* op,
                                        const leat_attr_t* attrs, int attr_count,
                                        leat_string_view_t device_type,
                                        const leat_kernel_row_t** out_row) {
  search_t found;
  *out_row = NULL;
  LEAT_RETURN_IF_ERROR(search(registry, op, attrs, attr_count, device_type, &found));
  if (LEAT_LIKELY(found.row != NULL)) {
    *out_row = found.row;
    return leat_ok_status();
  }
  if (found.missing.size > 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "OpKernel '%.*s' has constraint on attr '%.*s' not in NodeDef",
                            LEAT_SV_ARG(op->name), LEAT_SV_ARG(found.missing));
  }
  return leat_kernel_registry_not_found(registry, op, attrs, attr_count, device_type,
                                        found.has_device);
}

static leat_status_t each_added(const leat_kernel_registry_t* registry, leat_string_view_t op,
                                leat_kernel_row_fn_t fn, void* data) {
  uint64_t value = 0;
  if (leat_string_map_get(&registry->lists, op, &value)) {
    const leat_kernel_list_t* list = (const leat_kernel_list_t*)(uintptr_t)value;
    for (const leat_kernel_entry_t* e = list->first; e; e = e->next) {
      LEAT_RETURN_IF_ERROR(fn(data, e->row));
    }
  }
  for (size_t i = 0; i < registry->table_count && op.size == 0; ++i) {
    for (const leat_kernel_entry_t* e = registry->tables[i]; e->row; ++e) {
      LEAT_RETURN_IF_ERROR(fn(data, e->row));
    }
  }
  return leat_ok_status();
}

leat_status_t leat_kernel_registry_each(const leat_kernel_registry_t* registry,
                                        leat_string_view_t op, leat_kernel_row_fn_t fn,
                                        void* data) {
  leat_kernel_registry_t* filled = NULL;
  LEAT_RETURN_IF_ERROR(filled_of(registry, &filled));
  if (filled) LEAT_RETURN_IF_ERROR(each_added(filled, op, fn, data));
  LEAT_RETURN_IF_ERROR(each_added(registry, op, fn, data));
  for (const leat_kernel_entry_t* e = first_late(registry); e; e = next_of(e)) {
    if (op.size > 0 && !leat_string_view_equals(op, e->row->op)) continue;
    LEAT_RETURN_IF_ERROR(fn(data, e->row));
  }
  return leat_ok_status();
}
