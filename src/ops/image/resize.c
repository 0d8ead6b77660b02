// Rewrite rules of bilinear resizing. Programs convert pictures to float, and scale them to [0, 1],
// before they resize them: three passes over pixels of which the last one leaves most out. The
// kernel of ResizeBilinear converts pixels anyway, and scales those that it reads:
//
//   bytes ─▶ Cast ─▶ Mul ─▶ ExpandDims ─▶ ResizeBilinear     bytes ─▶ ExpandDims ─▶
//                    s ──┘                                   _ScaledResizeBilinear ◀─ s
//
// Values are bit for bit those of the nodes. Conversions of types that float holds exactly can go.
#include "graph/rewrite_rule.h"
#include "ops/op_rows.h"

#define SCALED "_ScaledResizeBilinear"

static bool is_scalar(const leat_rewrite_match_t* m, leat_output_t output) {
  return leat_graph_output_shape(m->graph, output).rank == 0;
}

// The input of the producer, a product or a quotient, that is the factor; -1: none can be it.
static int factor_of(const leat_rewrite_match_t* m) {
  const leat_node_t* producer = leat_rewrite_producer(m);
  if (is_scalar(m, producer->inputs[1])) return 1;
  const bool is_product = leat_string_view_equals(producer->op->name, "Mul");
  return is_product && is_scalar(m, producer->inputs[0]) ? 0 : -1;
}

static bool scales(const leat_rewrite_match_t* m) { return factor_of(m) >= 0; }

// Float holds all values of the type that is cast.
static bool converts_exactly(const leat_rewrite_match_t* m) {
  const leat_node_t* cast = leat_rewrite_producer(m);
  return leat_dtype_in(leat_graph_output_type(m->graph, cast->inputs[0]),
                       LEAT_DTYPE_BIT(INT8) | LEAT_DTYPE_BIT(UINT8) | LEAT_DTYPE_BIT(INT16) |
                           LEAT_DTYPE_BIT(UINT16) | LEAT_DTYPE_BIT(HALF) |
                           LEAT_DTYPE_BIT(BFLOAT16)) &&
         cast->output_types[0] == LEAT_DTYPE_FLOAT;
}

// Gives |value|, an input of the producer, the dimension that an ExpandDims has added behind the
// producer.
static leat_status_t expand(leat_rewrite_match_t* m, leat_output_t value,
                            leat_output_t* out_images) {
  *out_images = value;
  if (m->through < 0) return leat_ok_status();
  const leat_output_t axis = leat_graph_node(m->graph, m->through)->inputs[1];
  const leat_attr_t attrs[] = {LEAT_TYPE("T", leat_graph_output_type(m->graph, value)),
                               LEAT_TYPE("Tdim", leat_graph_output_type(m->graph, axis))};
  leat_node_spec_t spec = {
      .inputs = (leat_output_t[]){value, axis}, .input_count = 2, .attrs = attrs, .attr_count = 2};
  return m->add(m, "ExpandDims", &spec, out_images);
}

// Adds a resizing of |value|, an input of the producer. |factor| and |scaling| are those of a
// scaled one; without a scaling it is ResizeBilinear.
static leat_status_t resize(leat_rewrite_match_t* m, leat_output_t value, leat_output_t factor,
                            leat_string_view_t scaling, leat_output_t* out_by) {
  leat_output_t images;
  LEAT_RETURN_IF_ERROR(expand(m, value, &images));
  const leat_node_t* root = leat_rewrite_root(m);
  const bool is_scaled = scaling.size > 0;
  const leat_attr_t attrs[] = {
      LEAT_TYPE("T", leat_graph_output_type(m->graph, images)),
      LEAT_BOOL("align_corners", leat_node_attr_bool(root, "align_corners", false)),
      LEAT_BOOL("half_pixel_centers", leat_node_attr_bool(root, "half_pixel_centers", false)),
      LEAT_STRING("scaling", scaling)};
  leat_node_spec_t spec = {.inputs = (leat_output_t[]){images, root->inputs[1], factor},
                           .input_count = 2 + is_scaled,
                           .attrs = attrs,
                           .attr_count = 3 + is_scaled};
  return m->add(m, is_scaled ? SCALED : "ResizeBilinear", &spec, out_by);
}

static leat_status_t take_factor(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t* producer = leat_rewrite_producer(m);
  const int factor = factor_of(m);
  LEAT_DCHECK(factor >= 0);
  return resize(m, producer->inputs[1 - factor], producer->inputs[factor], producer->op->name,
                out_by);
}

static leat_status_t take_conversion(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_node_t *root = leat_rewrite_root(m), *cast = leat_rewrite_producer(m);
  const bool is_scaled = leat_string_view_equals(root->op->name, SCALED);
  return resize(m, cast->inputs[0], is_scaled ? root->inputs[2] : root->inputs[0],
                is_scaled ? leat_node_attr_string(root, "scaling") : (leat_string_view_t){0},
                out_by);
}

#define SCALING(rule_name, between)                              \
  {.name = rule_name,                                            \
   .phase = LEAT_REWRITE_PROLOGUE,                               \
   .root = "ResizeBilinear",                                     \
   .producer = "Mul|RealDiv",                                    \
   .through = between,                                           \
   .applies = scales,                                            \
   .make = take_factor,                                          \
   .doc = "images are scaled while they are resized"}
#define CONVERSION(rule_name, between)                           \
  {.name = rule_name,                                            \
   .phase = LEAT_REWRITE_PROLOGUE,                               \
   .root = "ResizeBilinear|" SCALED,                             \
   .producer = "Cast",                                           \
   .through = between,                                           \
   .applies = converts_exactly,                                  \
   .make = take_conversion,                                      \
   .doc = "images are converted to float while they are resized"}

const leat_rewrite_rule_t leat_resize_rules[] = {
    SCALING("scaled_resize", NULL),
    SCALING("scaled_image_resize", "ExpandDims"),
    CONVERSION("converted_resize", NULL),
    CONVERSION("converted_image_resize", "ExpandDims"),
    LEAT_REWRITE_RULES_END,
};
