// The gradient of the gradient of batch normalisation, built as a graph of elementary ops. Networks
// whose loss contains a gradient (a gradient penalty) need it; it is rare, so there is no kernel.
//
// For a channel with N positions, with g the gradient of y and s the scale, the gradient op
// computes
//
//   dx = s r (g' - r^2 Q x' / N),  ds = r Q,  do = sum g
//   x' = x - mean x,  g' = g - mean g,  Q = sum g x',  r = 1 / sqrt(mean x'^2 + epsilon)
//
// With A, B, C the gradients that come in for dx, ds and do, A' = A - mean A, P = sum A g' and R =
// sum A x', the gradients of its inputs are
//
//   for g:  s r (A - mean A - r^2 R x' / N) + B r x' + C
//   for s:  r P - r^3 Q R / N
//   for x:  s (x' (3 r^5 Q R / N - r^3 P) - r^3 (g' R + A' Q)) / N + B (r g' - r^3 Q x' / N)
//
// With frozen statistics, dx = s r g and ds = r sum g (x - mean), and everything is simpler. All
// arithmetic is in float, and results are cast to the type of x.
#include "ops/nn/batch_norm_second.h"

#include "ops/nn/subgraph.h"

// What the functions below need to build nodes for one gradient.
typedef struct pieces_s {
  leat_builder_t* b;
  int32_t axes[4];  // all dimensions but the channels
  int axis_count;
  bool channels_first;
  int rank;
} pieces_t;

static leat_output_t multiply(const pieces_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "Mul", x, y);
}
static leat_output_t add(const pieces_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "AddV2", x, y);
}
static leat_output_t subtract(const pieces_t* p, leat_output_t x, leat_output_t y) {
  return leat_build_binary(p->b, "Sub", x, y);
}
// Builds "Sum" or "Mean" over all dimensions but the channels; these keep size 1, so that the
// result broadcasts against x.
static leat_output_t reduce(const pieces_t* p, const char* op, leat_output_t x) {
  const leat_output_t axes = leat_build_int32_vector(p->b, p->axes, p->axis_count);
  return leat_build(p->b, op, LEAT_INPUTS(x, axes), LEAT_ATTRS(LEAT_BOOL("keep_dims", true)));
}
static leat_output_t reciprocal_root(const pieces_t* p, leat_output_t variance, float epsilon) {
  const leat_output_t small = leat_build_scalar(p->b, LEAT_DTYPE_FLOAT, (double)epsilon);
  return leat_build_unary(p->b, "Rsqrt", add(p, variance, small));
}
// Reshapes a vector of the channels so that it broadcasts against x.
static leat_output_t spread(const pieces_t* p, leat_output_t vector) {
  int32_t sizes[5] = {1, 1, 1, 1, 1};
  sizes[p->channels_first ? 1 : p->rank - 1] = -1;
  return leat_build_binary(p->b, "Reshape", vector,
                           leat_build_int32_vector(p->b, sizes, p->rank));
}
static leat_output_t flatten(const pieces_t* p, leat_output_t x) {
  const int32_t all = -1;
  return leat_build_binary(p->b, "Reshape", x, leat_build_int32_vector(p->b, &all, 1));
}

typedef struct values_s {
  leat_output_t dy, x, scale, mean, variance;
  leat_output_t ddx, ddscale, ddoffset;  // A, B, C
} values_t;

typedef struct results_s {
  leat_output_t dy, x, scale;
} results_t;

// dx = s r g, ds = r sum g (x - mean), do = sum g.
static results_t with_frozen_statistics(const pieces_t* p, const values_t* v, float epsilon) {
  const leat_output_t r = reciprocal_root(p, v->variance, epsilon);
  const leat_output_t centered = subtract(p, v->x, v->mean);
  const leat_output_t through_x = multiply(p, multiply(p, v->ddx, v->scale), r);
  const leat_output_t through_scale = multiply(p, multiply(p, v->ddscale, centered), r);
  return (results_t){
      .dy = add(p, add(p, through_x, through_scale), v->ddoffset),
      .x = multiply(p, multiply(p, v->ddscale, v->dy), r),
      .scale = multiply(p, reduce(p, "Sum", multiply(p, v->ddx, v->dy)), r),
  };
}

static results_t with_batch_statistics(const pieces_t* p, const values_t* v, float epsilon) {
  const leat_output_t three = leat_build_scalar(p->b, LEAT_DTYPE_FLOAT, 3);
  const leat_output_t x = subtract(p, v->x, reduce(p, "Mean", v->x));
  const leat_output_t g = subtract(p, v->dy, reduce(p, "Mean", v->dy));
  const leat_output_t a = subtract(p, v->ddx, reduce(p, "Mean", v->ddx));
  const leat_output_t r =
      reciprocal_root(p, reduce(p, "Mean", leat_build_unary(p->b, "Square", x)), epsilon);
  const leat_output_t r2 = multiply(p, r, r), r3 = multiply(p, r2, r);
  // mean_p, mean_q and mean_r are P, Q and R divided by N.
  const leat_output_t mean_p = reduce(p, "Mean", multiply(p, v->ddx, g));
  const leat_output_t mean_q = reduce(p, "Mean", multiply(p, v->dy, x));
  const leat_output_t mean_r = reduce(p, "Mean", multiply(p, v->ddx, x));
  const leat_output_t sum_p = reduce(p, "Sum", multiply(p, v->ddx, g));
  const leat_output_t sum_q = reduce(p, "Sum", multiply(p, v->dy, x));
  const leat_output_t r2qr = multiply(p, multiply(p, r2, mean_q), mean_r);
  results_t results;
  results.dy = multiply(p, multiply(p, v->scale, r),
                        subtract(p, a, multiply(p, multiply(p, r2, mean_r), x)));
  results.dy = add(p, add(p, results.dy, multiply(p, multiply(p, v->ddscale, r), x)), v->ddoffset);
  results.scale = multiply(
      p, r, subtract(p, sum_p, multiply(p, multiply(p, r2, sum_q), mean_r)));
  const leat_output_t along = multiply(p, x, subtract(p, multiply(p, three, r2qr), mean_p));
  const leat_output_t across = add(p, multiply(p, g, mean_r), multiply(p, a, mean_q));
  const leat_output_t through_x =
      multiply(p, multiply(p, v->scale, r3), subtract(p, along, across));
  const leat_output_t through_scale =
      subtract(p, multiply(p, r, g), multiply(p, multiply(p, r3, mean_q), x));
  results.x = add(p, through_x, multiply(p, v->ddscale, through_scale));
  return results;
}

static pieces_t describe(leat_gradient_t* g) {
  const leat_string_view_t format = leat_node_attr_string(leat_gradient_node(g), "data_format");
  pieces_t p = {.b = &g->builder, .rank = (int)format.size};
  p.channels_first = p.rank > 1 && format.data[1] == 'C';
  for (int d = 0; d < p.rank && d < 5; ++d) {
    if (d != (p.channels_first ? 1 : p.rank - 1)) p.axes[p.axis_count++] = d;
  }
  return p;
}

leat_status_t leat_batch_norm_second_gradient(leat_gradient_t* g) {
  const pieces_t p = describe(g);
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  const leat_attr_value_t* epsilon_attr = leat_node_attr(node, LEAT_SV("epsilon"));
  const float epsilon = epsilon_attr ? epsilon_attr->f : 1e-4f;
  const bool is_training = leat_node_attr_bool(node, "is_training", true);
  const int dtype = leat_build_type_of(b, leat_gradient_input(g, 1));
  const values_t v = {
      .dy = leat_subgraph_cast(b, leat_gradient_input(g, 0), LEAT_DTYPE_FLOAT),
      .x = leat_subgraph_cast(b, leat_gradient_input(g, 1), LEAT_DTYPE_FLOAT),
      .scale = spread(&p, leat_gradient_input(g, 2)),
      .mean = spread(&p, leat_gradient_input(g, 3)),
      .variance = spread(&p, leat_gradient_input(g, 4)),
      .ddx = leat_subgraph_cast(b, leat_gradient_of_output(g, 0), LEAT_DTYPE_FLOAT),
      .ddscale = spread(&p, leat_gradient_of_output(g, 1)),
      .ddoffset = spread(&p, leat_gradient_of_output(g, 2)),
  };
  const results_t results = is_training ? with_batch_statistics(&p, &v, epsilon)
                                        : with_frozen_statistics(&p, &v, epsilon);
  leat_gradient_set_input(g, 0, leat_subgraph_cast(b, results.dy, dtype));
  leat_gradient_set_input(g, 1, leat_subgraph_cast(b, results.x, dtype));
  leat_gradient_set_input(g, 2, flatten(&p, results.scale));
  return leat_ok_status();
}
