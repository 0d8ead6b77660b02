// The pass "fusion": elementwise nodes that read each other become one node, whose kernel runs over
// its inputs once, a tile at a time, and stores only the values that nodes outside read
// (ops/math/fused_cpu.c). Values between the nodes stay in the processor's cache. This file finds
// the regions; fusion_program.c makes a node of each.
//
//   x, y ─▶ Mul ─▶ AddV2 ─▶ Tanh ─▶ z      x, y, c ─▶ _FusedElementwise(Mul, AddV2, Tanh) ─▶ z
//            c ────┘
//
// No fusion may close a cycle, so no path may leave a region and come back into it. Each node
// therefore has a level, which rises along every edge that leads from a possible member to another
// node or back, and a region lies within one level. The regions of a level are numbered, and edges
// between them lead from lower to higher numbers only.
//
// The members of a region have equal conditions (optimize/conditions.h). Otherwise the fused node
// would wait for more than each of its members did, or be dead where a member was alive.
//
// TensorFlow's gradients come in groups: an Identity forwards each of them and waits for all of
// them through a NoOp, and constants beside them wait too. Such nodes can be members that are no
// steps, and their control edges within the region are dropped, since the members are computed
// together.
//
// A Reshape between members is a member where the shapes are known; a reader outside reads a
// Reshape that stays beside the fused node. A Tile that only broadcasts is a step, and so is a
// matrix product whose inner dimension is 1, because each of its elements is a product of two
// numbers. A reduction of rows may only end a region, as its result exists only when a whole row
// has been seen.
//
// A program runs along its largest arrays, and computes smaller ones completely before that. So
// members that are known to compute different numbers of elements are not fused with each other.
//
// The pass runs after placement, because only then the kernels are known, whose rows say which
// nodes are elementwise.
#include "optimize/fusion.h"

#include <stdlib.h>

#include "base/checked.h"

typedef struct region_s {
  int32_t became;        // the region into which it was merged; its own number: none
  int32_t first_reader;  // the lowest number of a region of its level that reads it
  int32_t level;
  int16_t member_count, step_count;  // a step is a member with arithmetic
  int16_t place_count;   // steps of the program, at most
  int64_t elements;      // how many each step computes or reduces, or UNKNOWN
  int32_t begin;         // the place of its members in the list of all members
} region_t;

typedef struct finder_s {
  leat_fusion_t c;
  int64_t limit;    // nodes known to compute fewer elements are not fused
  int32_t* order;   // the nodes in topological order
  size_t order_count;
  int32_t* levels;  // by node
  region_t* items;  // by number
  int32_t item_count;
} finder_t;

// ---- Roles --------------------------------------------------------------------------------------

// The role of a node that repeats its input (Tile): REPEATED where broadcasting gives the same,
// RESHAPED where the multiples are 1 and at most the rank changes, else OUTSIDER.
static leat_fusion_role_t repeated_role(const leat_graph_t* graph, const leat_node_t* node) {
  const leat_partial_shape_t given = leat_graph_output_shape(graph, node->inputs[0]);
  const leat_partial_shape_t shape = node->output_shapes[0];
  bool is_same = true;
  if (!leat_partial_shape_is_full(given) || !leat_partial_shape_is_full(shape)) {
    return LEAT_FUSION_OUTSIDER;
  }
  for (int d = 0; d < shape.rank; ++d) {
    const int from = d - (shape.rank - given.rank);
    const int64_t dim = from < 0 ? 1 : given.dims[from];
    if (dim == shape.dims[d]) continue;
    if (dim != 1) return LEAT_FUSION_OUTSIDER;
    is_same = false;
  }
  return is_same ? LEAT_FUSION_RESHAPED : LEAT_FUSION_REPEATED;
}

// Whether input |side| of the product can be the column (0) or the row (1) of an outer product.
// Where its shape is fully known, it may be stored transposed, and |*inout_sums_one| becomes true
// if it has as many elements as the product is long on that side, so that the inner dimension is 1.
static bool is_side(const leat_graph_t* graph, const leat_node_t* product, int side,
                    bool* inout_sums_one) {
  const leat_partial_shape_t given = leat_graph_output_shape(graph, product->inputs[side]);
  const int64_t length = product->output_shapes[0].dims[side];
  if (given.rank != 2) return false;
  if (!leat_partial_shape_is_full(given)) {
    return given.dims[side] == length && given.dims[1 - side] == 1;
  }
  *inout_sums_one |= length > 0 && given.dims[0] * given.dims[1] == length;
  return true;
}

// Whether the node is a matrix product with inner dimension 1. Both inputs share that dimension, so
// one input with a known size suffices. The types are those for which fusion_program.c takes care
// of a product of -0.
static bool is_outer_product(const leat_graph_t* graph, const leat_node_t* node) {
  bool sums_one = false;
  return node->output_shapes[0].rank == 2 &&
         leat_dtype_in(node->output_types[0], LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE)) &&
         is_side(graph, node, 0, &sums_one) && is_side(graph, node, 1, &sums_one) && sums_one;
}

static leat_fusion_role_t reduction_role(const finder_t* f, const leat_node_t* node) {
  leat_fusion_reduction_t reduction;
  return leat_fusion_find_reduction(f->c.graph, node, f->c.options, &reduction)
             ? LEAT_FUSION_REDUCTION
             : LEAT_FUSION_OUTSIDER;
}

static leat_fusion_role_t elementwise_role(const finder_t* f, const leat_node_t* node) {
  switch (leat_node_access(f->c.graph, node, f->c.options)) {
    case LEAT_ACCESS_BROADCAST: return LEAT_FUSION_STEP;
    case LEAT_ACCESS_SAME: return LEAT_FUSION_STRICT;
    case LEAT_ACCESS_IF_SAME:
      return leat_node_has_one_shape(f->c.graph, node) ? LEAT_FUSION_STEP : LEAT_FUSION_OUTSIDER;
    case LEAT_ACCESS_SUM:
      return node->input_count > 1 && leat_node_has_one_shape(f->c.graph, node)
                 ? LEAT_FUSION_SUM
                 : LEAT_FUSION_OUTSIDER;
    case LEAT_ACCESS_BIAS: return LEAT_FUSION_SUM;
    case LEAT_ACCESS_REPEATED: return repeated_role(f->c.graph, node);
    case LEAT_ACCESS_CONTRACTION:
      if (is_outer_product(f->c.graph, node)) return LEAT_FUSION_PRODUCT;
      return reduction_role(f, node);
    case LEAT_ACCESS_REDUCTION: return reduction_role(f, node);
    default: return LEAT_FUSION_OUTSIDER;
  }
}

const char* leat_fusion_form(const leat_op_row_t* op, leat_access_t access) {
  static const char kLeftOut[] = "costs nothing within a loop over elementwise nodes";
  if (op->flags & (LEAT_OP_PASS_THROUGH | LEAT_OP_RESHAPES)) return kLeftOut;
  switch (access) {
    case LEAT_ACCESS_BROADCAST:
    case LEAT_ACCESS_SAME:
    case LEAT_ACCESS_IF_SAME:
    case LEAT_ACCESS_SUM:
    case LEAT_ACCESS_BIAS: return "one loop with the elementwise nodes beside it";
    case LEAT_ACCESS_REPEATED: return kLeftOut;
    case LEAT_ACCESS_CONTRACTION: return "a column times a row in a loop over elementwise nodes";
    case LEAT_ACCESS_REDUCTION: return "reduces the rows of a loop over elementwise nodes";
    default: return NULL;
  }
}

// The role of a pure node with one output, regardless of its size.
static leat_fusion_role_t role_of_any_size(const finder_t* f, const leat_node_t* node) {
  if (node->op->flags & LEAT_OP_PASS_THROUGH) return LEAT_FUSION_FORWARDED;
  if (node->op->flags & LEAT_OP_RESHAPES) {
    return leat_partial_shape_is_full(node->output_shapes[0]) &&
                   leat_partial_shape_is_full(leat_graph_output_shape(f->c.graph, node->inputs[0]))
               ? LEAT_FUSION_RESHAPED
               : LEAT_FUSION_OUTSIDER;
  }
  return elementwise_role(f, node);
}

// The role that the node has if it becomes a member. Nodes known to be small are left alone: fusing
// them saves too little memory traffic to be worth a program.
static leat_fusion_role_t possible_role(const finder_t* f, const leat_node_t* node) {
  if (leat_string_view_equal(node->op->name, LEAT_OP_NAME_NO_OP)) return LEAT_FUSION_GROUP;
  if ((node->op->flags & LEAT_OP_CONSTANT) && node->control_count) return LEAT_FUSION_CONSTANT;
  if (node->output_count != 1 || node->input_count == 0 ||
      leat_dtype_in(node->output_types[0], LEAT_DTYPES_OBJECT) ||
      !leat_node_is_pure(f->c.graph, node)) {
    return LEAT_FUSION_OUTSIDER;
  }
  const leat_partial_shape_t read = leat_graph_output_shape(f->c.graph, node->inputs[0]);
  const bool reads_many = leat_shape_may_reach(read, f->limit);
  const bool gives_many = leat_shape_may_reach(node->output_shapes[0], f->limit);
  if (!reads_many && !gives_many) return LEAT_FUSION_OUTSIDER;
  const leat_fusion_role_t role = role_of_any_size(f, node);
  return (role == LEAT_FUSION_REDUCTION ? reads_many : gives_many) ? role : LEAT_FUSION_OUTSIDER;
}

// Gives each node its possible role. True where a step reads another possible member; otherwise no
// region can have two.
static bool find_roles(finder_t* f) {
  const leat_fusion_t* c = &f->c;
  bool any_reads_another = false;
  for (size_t i = 0; i < f->order_count; ++i) {
    c->roles[f->order[i]] = (uint8_t)possible_role(f, &c->graph->nodes[f->order[i]]);
  }
  for (size_t i = 0; i < f->order_count && !any_reads_another; ++i) {
    const leat_node_t* node = &c->graph->nodes[f->order[i]];
    if (!leat_fusion_steps(c, f->order[i])) continue;
    for (int k = 0; k < node->input_count; ++k) {
      any_reads_another |= c->roles[node->inputs[k].node] != LEAT_FUSION_OUTSIDER;
    }
  }
  return any_reads_another;
}

// ---- Levels -------------------------------------------------------------------------------------

// The level of the node: one more than that of a source where the edge leads into or out of the
// possible members, or reads a reduction, which must be complete before it is read.
static int32_t find_level(const finder_t* f, int32_t index) {
  const leat_node_t* node = &f->c.graph->nodes[index];
  int32_t level = 0;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    const int32_t source = node->inputs[i].node;
    if (leat_edge_closes_loop(f->c.graph, node, node->inputs[i])) continue;
    LEAT_DCHECK((size_t)source < f->c.count);
    const bool crosses = !f->c.roles[source] != !f->c.roles[index];
    const bool reads_rest = i < node->input_count && f->c.roles[source] == LEAT_FUSION_REDUCTION;
    level = LEAT_MAX(level, f->levels[source] + (crosses || reads_rest));
  }
  return level;
}

// ---- Regions -----------------------------------------------------------------------------------

// The region in which the node lies after all merges so far.
static int32_t find_region(const finder_t* f, int32_t node) {
  LEAT_DCHECK(node >= 0 && (size_t)node < f->c.count);
  int32_t region = f->c.region_of[node];
  while (region != LEAT_FUSION_NONE && f->items[region].became != region) {
    region = f->items[region].became;
  }
  return region;
}

static bool has_room(const region_t* region, int members, int places) {
  return region->member_count + members <= LEAT_FUSION_MAX_MEMBERS &&
         region->place_count + places <= LEAT_FUSED_MAX_STEPS;
}

#define UNKNOWN (-1)

// How many elements the node computes or reduces. UNKNOWN also for a member without arithmetic,
// which fits any region.
static int64_t count_elements(const finder_t* f, int32_t index) {
  const leat_node_t* node = &f->c.graph->nodes[index];
  if (!leat_fusion_steps(&f->c, index)) return UNKNOWN;
  return leat_shape_count_known(f->c.roles[index] == LEAT_FUSION_REDUCTION
                                    ? leat_graph_output_shape(f->c.graph, node->inputs[0])
                                    : node->output_shapes[0]);
}

// Whether steps of so many elements may be in one program.
static bool go_together(int64_t elements, int64_t others) {
  return elements == others || elements == UNKNOWN || others == UNKNOWN;
}

// Whether |source| is a possible member of the same level as |reader|.
static bool is_beside(const finder_t* f, int32_t source, int32_t reader) {
  return f->c.roles[source] && f->levels[source] == f->levels[reader];
}

// Whether the nodes lie on one device and have equal conditions.
static bool comes_with(const finder_t* f, int32_t a, int32_t b) {
  return f->c.graph->nodes[a].assigned_device == f->c.graph->nodes[b].assigned_device &&
         leat_edit_comes_with(f->c.edit, a, b);
}

// Merges region |from| into |to|, which has a higher number, unless a region between the two reads
// |from|: an edge would then lead from |to| to a lower number.
static void merge(finder_t* f, int32_t from, int32_t to) {
  region_t* source = &f->items[from];
  region_t* target = &f->items[to];
  // Neither has been merged into another one: regions are only merged into higher numbers, so that
  // edges between regions lead to higher numbers.
  LEAT_DCHECK(from < to && source->became == from && target->became == to);
  if (!has_room(target, source->member_count, source->place_count) ||
      !go_together(target->elements, source->elements) || source->first_reader < to) {
    return;
  }
  source->became = to;
  target->member_count += source->member_count;
  target->step_count += source->step_count;
  target->place_count += source->place_count;
  target->elements = LEAT_MAX(target->elements, source->elements);
  // Only the first reader of |from| is known. If that was |to| itself, the next one can be any
  // region after |to|.
  const int32_t reader = source->first_reader == to ? to + 1 : source->first_reader;
  target->first_reader = LEAT_MIN(target->first_reader, reader);
}

// The highest region of its level that the node reads, if the node may join it; else
// LEAT_FUSION_NONE. Joining a lower one would make an edge lead to a lower number.
static int32_t choose_region(const finder_t* f, int32_t index) {
  const leat_node_t* node = &f->c.graph->nodes[index];
  int32_t highest = LEAT_FUSION_NONE;
  bool joins = false;
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    const int32_t source = node->inputs[i].node;
    if (!is_beside(f, source, index)) continue;
    const int32_t region = find_region(f, source);
    if (region < highest) continue;
    highest = region;
    joins = comes_with(f, source, index) &&
            has_room(&f->items[region], 1, leat_fusion_places(&f->c, index)) &&
            go_together(f->items[region].elements, count_elements(f, index));
  }
  return joins ? highest : LEAT_FUSION_NONE;
}

// Merges the other regions that the node reads into |region|, which the node has joined, where that
// is allowed, and notes |region| as a reader of those that remain.
static void merge_sources(finder_t* f, int32_t index, int32_t region) {
  const leat_node_t* node = &f->c.graph->nodes[index];
  for (int i = 0; i < node->input_count + node->control_count; ++i) {
    const int32_t source = node->inputs[i].node;
    if (!is_beside(f, source, index)) continue;
    const int32_t other = find_region(f, source);
    if (other == region) continue;
    if (comes_with(f, source, index)) merge(f, other, region);
    region_t* item = &f->items[other];
    if (item->became == other) item->first_reader = LEAT_MIN(item->first_reader, region);
  }
}

// Whether the node may be the first member of a region: a step that is no reduction.
static bool may_begin(const finder_t* f, int32_t index) {
  return f->c.roles[index] != LEAT_FUSION_REDUCTION && leat_fusion_steps(&f->c, index) > 0;
}

// Whether a node that may not begin a region may join |region|. A NoOp or constant always may. An
// Identity, Reshape or reduction of a member's value must be in the region of that member; of a
// value from outside only an Identity may join.
static bool belongs(const finder_t* f, int32_t index, int32_t region) {
  const leat_node_t* node = &f->c.graph->nodes[index];
  if (region == LEAT_FUSION_NONE) return false;
  if (node->input_count == 0) return true;
  const uint8_t source = f->c.roles[node->inputs[0].node];
  if (source && source != LEAT_FUSION_REDUCTION) {
    return region == find_region(f, node->inputs[0].node);
  }
  return f->c.roles[index] == LEAT_FUSION_FORWARDED;
}

// Puts the node into a region that it reads, or into a new one. A node that can do neither becomes
// an outsider, and gets its level again, as the edges from its sources now leave the members.
static void join(finder_t* f, int32_t index) {
  int32_t region = choose_region(f, index);
  if (!may_begin(f, index) && !belongs(f, index, region)) {
    f->c.roles[index] = LEAT_FUSION_OUTSIDER;
    f->levels[index] = find_level(f, index);
    return;
  }
  if (region == LEAT_FUSION_NONE) {
    region = f->item_count++;
    LEAT_DCHECK((size_t)region < f->c.count);
    f->items[region] = (region_t){
        .became = region, .first_reader = INT32_MAX, .level = f->levels[index],
        .elements = UNKNOWN};
  }
  f->c.region_of[index] = region;
  // A region lies in one level, which is what keeps cycles away.
  LEAT_DCHECK(f->items[region].became == region && f->items[region].level == f->levels[index]);
  ++f->items[region].member_count;
  f->items[region].step_count += (int16_t)leat_fusion_steps(&f->c, index);
  f->items[region].place_count += (int16_t)leat_fusion_places(&f->c, index);
  f->items[region].elements = LEAT_MAX(f->items[region].elements, count_elements(f, index));
  merge_sources(f, index, region);
}

static void find_regions(finder_t* f) {
  for (size_t i = 0; i < f->c.count; ++i) f->c.region_of[i] = LEAT_FUSION_NONE;
  for (size_t i = 0; i < f->order_count; ++i) {
    const int32_t node = f->order[i];
    f->levels[node] = find_level(f, node);
    if (f->c.roles[node]) join(f, node);
  }
  for (size_t i = 0; i < f->c.count; ++i) f->c.region_of[i] = find_region(f, (int32_t)i);
}

// ---- The pass -----------------------------------------------------------------------------------

// Lists all members, those of one region next to each other, in topological order.
static leat_status_t list_members(finder_t* f, int32_t** out_members) {
  int32_t total = 0;
  for (int32_t k = 0; k < f->item_count; ++k) {
    f->items[k].begin = total;
    if (f->items[k].became != k) f->items[k].member_count = f->items[k].step_count = 0;
    total += f->items[k].member_count;
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(f->c.edit->scratch, (size_t)total + 1, out_members));
  for (size_t i = 0; i < f->order_count; ++i) {
    const int32_t region = f->c.region_of[f->order[i]];
    if (region != LEAT_FUSION_NONE) (*out_members)[f->items[region].begin++] = f->order[i];
  }
  return leat_ok_status();
}

// Orders regions by level and number, so that no region reads a later one.
static int comes_later(const void* a, const void* b) {
  const region_t *x = a, *y = b;
  return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
                              : (x->became > y->became) - (x->became < y->became);
}

// Makes a node of each region with at least two steps. A region comes after those that it reads, so
// that it reads the nodes that these have become.
static leat_status_t fuse_regions(finder_t* f) {
  int32_t* members;
  LEAT_RETURN_IF_ERROR(list_members(f, &members));
  qsort(f->items, (size_t)f->item_count, sizeof *f->items, comes_later);
  for (int32_t k = 0; k < f->item_count; ++k) {
    const region_t* item = &f->items[k];
    if (item->step_count < 2) continue;
    LEAT_RETURN_IF_ERROR(leat_fusion_make(&f->c, members + item->begin - item->member_count,
                                          item->member_count));
  }
  return leat_ok_status();
}

static leat_status_t allocate(finder_t* f) {
  const struct {
    void** array;
    size_t item_bytes;
  } arrays[] = {{(void**)&f->c.roles, sizeof *f->c.roles},
                {(void**)&f->c.region_of, sizeof *f->c.region_of},
                {(void**)&f->levels, sizeof *f->levels},
                {(void**)&f->items, sizeof *f->items}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(arrays); ++i) {
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(f->c.edit->scratch, f->c.count + 1,
                                                   arrays[i].item_bytes, arrays[i].array));
  }
  return leat_ok_status();
}

static leat_status_t run(finder_t* f) {
  LEAT_RETURN_IF_ERROR(allocate(f));
  LEAT_RETURN_IF_ERROR(leat_edit_sort(f->c.edit, &f->order, &f->order_count));
  if (!find_roles(f)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_edit_find_conditions(f->c.edit));
  find_regions(f);
  return fuse_regions(f);
}

static leat_status_t fusion(leat_edit_t* edit) {
  const int64_t limit = edit->options->fusion_limit_elements;
  finder_t f = {.c = {.edit = edit,
                      .graph = edit->graph,
                      .options = edit->options,
                      .count = edit->graph->node_count},
                .limit = limit ? limit : 1024};
  if (!edit->options->find_kernel) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_op_registry_find(edit->graph->ops, LEAT_OP_NAME_FUSED_ELEMENTWISE, &f.c.op));
  return run(&f);
}

const leat_pass_t leat_pass_fusion = {
    .name = "fusion",
    .doc = "elementwise nodes that read each other, and what reduces their rows, become one",
    .after = "rules,defer,concat_sinking,prologues",
    .stage = LEAT_PASS_PLACED,
    .bit = LEAT_PASS_BIT_FUSION,
    .option = "remapping",
    .has_work = leat_graph_computes,
    .run = fusion};
