// Expands Slurm's short forms. A list of hosts is written with ranges in brackets, which save most
// of a variable's room where hosts are numbered:
//
//   node[01-03,7],login  ->  node01 node02 node03 node7 login
//   r[1-2]n[1-2]         ->  r1n1 r1n2 r2n1 r2n2
//
// The width of a number is that of its range's first: 01-10 gives 01 to 10, and 1-10 gives 1 to 10.
// A text with several brackets is expanded from the left, each result with the rest behind it, so
// the last bracket runs fastest. The list comes from the environment, so everything about it may be
// wrong, and a range like [0-999999999] must not take the memory of the machine: each number makes
// a host at least, and their number is bounded. scheduler_source.c is the caller.
#include "cluster/host_list.h"

enum { MOST_BRACKETS = 8, MOST_DIGITS = 9 };

typedef struct expansion_s {
  leat_arena_t* arena;
  leat_string_view_t list;  // for messages
  leat_string_view_t* hosts;
  size_t count, capacity, most;
} expansion_t;

static leat_status_t broken(leat_string_view_t list, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading a list of hosts failed: it is '%.*s', must %s",
                          LEAT_SV_ARG(list), rule);
}

static leat_status_t add_host(expansion_t* e, leat_string_view_t host) {
  if (host.size == 0) return broken(e->list, "have no empty names");
  if (e->count == e->most) return broken(e->list, "name fewer hosts");
  if (e->count == e->capacity) {
    leat_string_view_t* grown;
    const size_t capacity = 2 * e->capacity + 16;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(e->arena, capacity, &grown));
    for (size_t i = 0; i < e->count; ++i) grown[i] = e->hosts[i];
    e->hosts = grown;
    e->capacity = capacity;
  }
  return leat_arena_copy_string(e->arena, host, &e->hosts[e->count++]);
}

// Takes the part of |list| before the first comma that is in no bracket. Returns whether there was
// a comma, behind which another part must come.
static bool take_item(leat_string_view_t* list, leat_string_view_t* out_item) {
  int depth = 0;
  size_t size = 0;
  for (; size < list->size && !(list->data[size] == ',' && depth == 0); ++size) {
    depth += (list->data[size] == '[') - (list->data[size] == ']');
  }
  const bool has_more = size < list->size;
  *out_item = leat_string_view_make(list->data, size);
  *list = leat_string_view_from_index(*list, size + has_more);
  return has_more;
}

// Reads digits alone: a sign or blanks would be part of no host's name.
static bool read_digits(leat_string_view_t text, int64_t* out_number) {
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return text.size <= MOST_DIGITS && leat_string_view_to_int64(text, out_number);
}

// Expands |rest| behind |prefix|, which has none of its brackets left.
static leat_status_t expand(expansion_t* e, leat_string_view_t prefix, leat_string_view_t rest,
                            int brackets) {
  const size_t open = leat_string_view_find(rest, '[');
  const size_t close = leat_string_view_find(rest, ']');
  leat_string_view_t name;
  if (open == SIZE_MAX && close == SIZE_MAX) {
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(e->arena, &name, "%.*s%.*s", LEAT_SV_ARG(prefix), LEAT_SV_ARG(rest)));
    return add_host(e, name);
  }
  if (open == SIZE_MAX || close == SIZE_MAX || close < open || brackets == MOST_BRACKETS) {
    return broken(e->list, "have a ']' for each '[', and at most 8 of them in a name");
  }
  leat_string_view_t ranges = leat_string_view_make(rest.data + open + 1, close - open - 1);
  const leat_string_view_t behind = leat_string_view_from_index(rest, close + 1);
  for (bool has_more = true; has_more;) {
    leat_string_view_t range;
    has_more = take_item(&ranges, &range);
    const size_t dash = leat_string_view_find(range, '-');
    const leat_string_view_t first = {range.data, dash == SIZE_MAX ? range.size : dash};
    const leat_string_view_t last =
        dash == SIZE_MAX ? first : leat_string_view_from_index(range, dash + 1);
    int64_t from, to;
    if (!read_digits(first, &from) || !read_digits(last, &to) || to < from) {
      return broken(e->list, "have numbers in its brackets, as in [1,3-5]");
    }
    for (int64_t i = from; i <= to; ++i) {
      LEAT_RETURN_IF_ERROR(leat_arena_print(e->arena, &name, "%.*s%.*s%0*d", LEAT_SV_ARG(prefix),
                                            (int)open, rest.data, (int)first.size, (int)i));
      LEAT_RETURN_IF_ERROR(expand(e, name, behind, brackets + 1));
    }
  }
  return leat_ok_status();
}

leat_status_t leat_host_list_expand(leat_string_view_t list, size_t most, leat_arena_t* arena,
                                    leat_string_view_t** out_hosts, size_t* out_count) {
  expansion_t e = {.arena = arena, .list = list, .most = most};
  for (bool has_more = true; has_more;) {
    leat_string_view_t item;
    has_more = take_item(&list, &item);
    LEAT_RETURN_IF_ERROR(expand(&e, LEAT_SV(""), item, 0));
  }
  *out_hosts = e.hosts;
  *out_count = e.count;
  return leat_ok_status();
}

static leat_status_t broken_counts(leat_string_view_t list, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading numbers of tasks failed: they are '%.*s', must %s",
                          LEAT_SV_ARG(list), rule);
}

leat_status_t leat_task_counts_expand(leat_string_view_t list, size_t count, size_t most,
                                      int* out_counts) {
  const leat_string_view_t all = list;
  size_t filled = 0, sum = 0;
  for (bool has_more = true; has_more;) {
    leat_string_view_t item;
    int64_t tasks, times = 1;
    has_more = take_item(&list, &item);
    const size_t open = leat_string_view_find(item, '(');
    if (open != SIZE_MAX) {
      leat_string_view_t behind = leat_string_view_from_index(item, open + 1);
      const bool is_right = leat_string_view_starts_with(behind, LEAT_SV("x")) &&
                            leat_string_view_ends_with(behind, LEAT_SV(")"));
      if (is_right) behind = leat_string_view_make(behind.data + 1, behind.size - 2);
      if (!is_right || !read_digits(behind, &times)) times = -1;
      item.size = open;
    }
    if (times < 1 || !read_digits(item, &tasks) || tasks > (int64_t)most) {
      return broken_counts(all, "be like '2(x3),1'");
    }
    if ((size_t)times > count - filled) return broken_counts(all, "be one for each host");
    while (times-- > 0) out_counts[filled++] = (int)tasks;
  }
  for (; filled < count; ++filled) out_counts[filled] = out_counts[filled - 1];
  for (size_t i = 0; i < count; ++i) sum += (size_t)out_counts[i];
  return sum <= most ? leat_ok_status() : broken_counts(all, "be fewer");
}
