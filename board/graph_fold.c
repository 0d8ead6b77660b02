// Series and lists. Both are items between a scope and some of what lies in it:
//
// - Children that are alike (the same op, or scopes with the same inside) and named alike but for a
//   number at the end are a series, from SERIES of them on: "add", "add_1", "add_2", ...
// - Where a scope still has more than BOARD_GRAPH_MAX_CHILDREN, those that are alike, whatever they
//   are called, are lists.
// - Where that was not enough, what is left is cut into stretches of its order. A list or a series
//   may itself be too long, and is then cut in the same way, so that 20,000 children become lists
//   of lists.
//
// Afterwards all items are numbered in the order of a walk that goes in depth, which makes "what
// lies in an item" a range of numbers.
#include "base/checked.h"
#include "base/map.h"
#include "board/graph_tree_build.h"

#define SERIES 5

typedef struct family_s {
  uint32_t* items;
  size_t count;
} family_t;

typedef struct fold_s {
  board_graph_draft_t* draft;
  family_t* families;  // by item: what lies in it
  size_t family_capacity;
  // Of the scope at work.
  leat_word_map_t groups;  // by key: an index of |group_of| and what follows
  uint32_t *group_of, *group_count, *group_item;
} fold_t;

static leat_status_t list_families(fold_t* fold) {
  const board_graph_draft_t* draft = fold->draft;
  size_t count = draft->items.count;
  uint32_t *all, *counts;
  // Lists are fewer than what they hold: five go into one, and stretches of 200 into the next.
  fold->family_capacity = count * 2 + 2;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, fold->family_capacity, &fold->families));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &all));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count + 1, &counts));
  for (size_t i = 1; i < count; ++i) ++counts[draft->items.items[i].parent];
  for (size_t i = 0, at = 0; i < count; at += counts[i++]) fold->families[i].items = all + at;
  for (uint32_t i = 1; i < count; ++i) {
    family_t* family = &fold->families[draft->items.items[i].parent];
    family->items[family->count++] = i;
  }
  return leat_ok_status();
}

// |label| without a number at its end and the underscore before that.
static leat_string_view_t base_of(leat_string_view_t label) {
  size_t size = label.size;
  while (size && label.data[size - 1] >= '0' && label.data[size - 1] <= '9') --size;
  if (size && size < label.size && label.data[size - 1] == '_') --size;
  return leat_string_view_make(label.data, size ? size : label.size);
}

static uint64_t key_of(const board_graph_item_t* item, bool by_name) {
  uint64_t hash = leat_hash_mix(item->hash, item->kind);
  return by_name ? leat_hash_mix(hash, leat_string_view_hash(base_of(item->label))) : hash;
}

static leat_status_t add_list(fold_t* fold, board_item_kind_t kind, uint32_t parent,
                              leat_string_view_t label, uint32_t* out_item) {
  LEAT_RETURN_IF_ERROR(board_graph_add_item(fold->draft, kind, parent,
                                            leat_string_view_make("", 0), label, out_item));
  LEAT_DCHECK(*out_item < fold->family_capacity);
  return leat_ok_status();
}

static void move_child(fold_t* fold, uint32_t child, uint32_t list) {
  board_graph_item_t* items = fold->draft->items.items;
  family_t* family = &fold->families[list];
  family->items[family->count++] = child;
  items[child].parent = list;
  items[list].node_count += items[child].node_count;
  items[list].hash += leat_hash_mix(29, items[child].hash);
}

static leat_status_t label_group(fold_t* fold, uint32_t first, bool by_name,
                                 leat_string_view_t* out_label) {
  const board_graph_item_t* item = &fold->draft->items.items[first];
  if (by_name) {
    *out_label = base_of(item->label);
    return leat_ok_status();
  }
  if (item->node) {
    *out_label = item->node->op;
    return leat_ok_status();
  }
  return leat_arena_print(fold->draft->arena, out_label, "like %.*s", LEAT_SV_ARG(item->label));
}

// Puts the children that are alike into series (|by_name|) or lists, each in the place of its
// first. Series and lists among the children stay as they are.
static leat_status_t group(fold_t* fold, uint32_t scope, bool by_name) {
  family_t* family = &fold->families[scope];
  size_t groups = 0, kept = 0, count = family->count;
  uint64_t number;
  if (count < SERIES) return leat_ok_status();
  // Clearing costs as much as the largest scope so far, which small ones shall not pay.
  if (fold->groups.capacity > 64 * count) {
    leat_word_map_deinitialize(&fold->groups);
    leat_word_map_initialize(leat_allocator_system(), &fold->groups);
  }
  leat_word_map_clear(&fold->groups);
  for (size_t i = 0; i < count; ++i) {
    const board_graph_item_t* item = &fold->draft->items.items[family->items[i]];
    fold->group_of[i] = UINT32_MAX;
    if (item->kind != BOARD_ITEM_NODE && item->kind != BOARD_ITEM_SCOPE) continue;
    if (!leat_word_map_get(&fold->groups, key_of(item, by_name), &number)) {
      number = groups++;
      fold->group_count[number] = 0;
      fold->group_item[number] = 0;
      LEAT_RETURN_IF_ERROR(leat_word_map_set(&fold->groups, key_of(item, by_name), number));
    }
    fold->group_of[i] = (uint32_t)number;
    ++fold->group_count[number];
  }
  for (size_t i = 0; i < count; ++i) {
    uint32_t child = family->items[i], of = fold->group_of[i];
    // A scope of one series alone would be a box in a box.
    if (of == UINT32_MAX || fold->group_count[of] < SERIES || fold->group_count[of] == count) {
      family->items[kept++] = child;
      continue;
    }
    if (!fold->group_item[of]) {
      leat_string_view_t label;
      uint32_t* list = &fold->group_item[of];
      LEAT_RETURN_IF_ERROR(label_group(fold, child, by_name, &label));
      LEAT_RETURN_IF_ERROR(
          add_list(fold, by_name ? BOARD_ITEM_SERIES : BOARD_ITEM_LIST, scope, label, list));
      LEAT_RETURN_IF_ERROR(
          LEAT_NEW(fold->draft->arena, fold->group_count[of], &fold->families[*list].items));
      family->items[kept++] = *list;
    }
    move_child(fold, child, fold->group_item[of]);
  }
  family->count = kept;
  return leat_ok_status();
}

// Cuts the children into at most BOARD_GRAPH_MAX_CHILDREN stretches.
static leat_status_t cut(fold_t* fold, uint32_t scope) {
  family_t* family = &fold->families[scope];
  size_t count = family->count, lists = 0;
  size_t length = (count + BOARD_GRAPH_MAX_CHILDREN - 1) / BOARD_GRAPH_MAX_CHILDREN;
  length = LEAT_MAX(length, (size_t)BOARD_GRAPH_MAX_CHILDREN);
  length = LEAT_MIN(length, (count + 1) / 2);
  for (size_t begin = 0; begin < count; begin += length) {
    size_t end = LEAT_MIN(begin + length, count);
    const board_graph_item_t* items = fold->draft->items.items;
    leat_string_view_t label;
    uint32_t list;
    LEAT_RETURN_IF_ERROR(leat_arena_print(fold->draft->arena, &label, "%.*s … %.*s",
                                          LEAT_SV_ARG(items[family->items[begin]].label),
                                          LEAT_SV_ARG(items[family->items[end - 1]].label)));
    LEAT_RETURN_IF_ERROR(add_list(fold, BOARD_ITEM_LIST, scope, label, &list));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(fold->draft->arena, end - begin, &fold->families[list].items));
    for (size_t i = begin; i < end; ++i) move_child(fold, family->items[i], list);
    family->items[lists++] = list;
  }
  family->count = lists;
  return leat_ok_status();
}

// The loop reaches the lists that it makes, since they are added at the end.
static leat_status_t fold_all(fold_t* fold) {
  for (uint32_t i = 0; i < fold->draft->items.count; ++i) {
    board_item_kind_t kind = fold->draft->items.items[i].kind;
    if (kind == BOARD_ITEM_NODE) continue;
    if (kind == BOARD_ITEM_SCOPE || kind == BOARD_ITEM_FUNCTION) {
      LEAT_RETURN_IF_ERROR(group(fold, i, true));
      if (fold->families[i].count > BOARD_GRAPH_MAX_CHILDREN) {
        LEAT_RETURN_IF_ERROR(group(fold, i, false));
      }
    }
    if (fold->families[i].count > BOARD_GRAPH_MAX_CHILDREN) LEAT_RETURN_IF_ERROR(cut(fold, i));
  }
  return leat_ok_status();
}

// ---- The final order ----------------------------------------------------------------------------
// Walks in depth with a stack of its own; |number[i]| is the new number of item i.
static leat_status_t number_items(fold_t* fold) {
  board_graph_draft_t* draft = fold->draft;
  size_t count = draft->items.count, depth = 0, made = 0;
  board_graph_item_t* sorted;
  uint32_t *number, *stack, *next;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &sorted));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &number));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &next));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &stack));
  sorted[made++] = draft->items.items[0];
  stack[depth++] = 0;
  while (depth) {
    uint32_t item = stack[depth - 1];
    if (next[item] == fold->families[item].count) {
      sorted[number[item]].end = (uint32_t)made;
      --depth;
      continue;
    }
    uint32_t child = fold->families[item].items[next[item]++];
    number[child] = (uint32_t)made;
    sorted[made] = draft->items.items[child];
    sorted[made].parent = number[item];
    sorted[made].depth = sorted[number[item]].depth + 1;
    ++made;
    stack[depth++] = child;
  }
  LEAT_DCHECK(made == count);
  for (size_t e = 0; e < draft->edges.count; ++e) {
    draft->edges.items[e].from = number[draft->edges.items[e].from];
    draft->edges.items[e].to = number[draft->edges.items[e].to];
  }
  draft->items.items = sorted;
  return leat_ok_status();
}

leat_status_t board_graph_fold(board_graph_draft_t* draft) {
  fold_t fold = {.draft = draft};
  size_t count = draft->items.count;
  LEAT_RETURN_IF_ERROR(list_families(&fold));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &fold.group_of));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &fold.group_count));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, count, &fold.group_item));
  leat_word_map_initialize(leat_allocator_system(), &fold.groups);
  leat_status_t status = fold_all(&fold);
  leat_word_map_deinitialize(&fold.groups);
  LEAT_RETURN_IF_ERROR(status);
  return number_items(&fold);
}
