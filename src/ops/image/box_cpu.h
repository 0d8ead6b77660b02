// Boxes with sides along the axes, and how much two of them overlap, for the ops that suppress
// boxes.
#ifndef LEAT_OPS_IMAGE_BOX_CPU_H_
#define LEAT_OPS_IMAGE_BOX_CPU_H_

typedef struct leat_box_s {
  float top, left, bottom, right;
} leat_box_t;

// fminf would take the number where one of the two is NaN; TensorFlow takes the first operand, so
// these do too.
static inline float leat_box_smaller(float x, float y) { return y < x ? y : x; }
static inline float leat_box_larger(float x, float y) { return x < y ? y : x; }

// The box between two opposite corners (y, x), which may come in any order.
static inline leat_box_t leat_box_between(const float corners[4]) {
  return (leat_box_t){
      leat_box_smaller(corners[0], corners[2]), leat_box_smaller(corners[1], corners[3]),
      leat_box_larger(corners[0], corners[2]), leat_box_larger(corners[1], corners[3])};
}

static inline float leat_box_area(leat_box_t b) { return (b.bottom - b.top) * (b.right - b.left); }

// The area of the intersection over that of the union; 0 where a box has no area.
static inline float leat_box_overlap(leat_box_t a, leat_box_t b) {
  const float area_a = leat_box_area(a), area_b = leat_box_area(b);
  if (area_a <= 0 || area_b <= 0) return 0;
  const leat_box_t both = {leat_box_larger(a.top, b.top), leat_box_larger(a.left, b.left),
                           leat_box_smaller(a.bottom, b.bottom),
                           leat_box_smaller(a.right, b.right)};
  const float common =
      leat_box_larger(both.bottom - both.top, 0) * leat_box_larger(both.right - both.left, 0);
  return common / (area_a + area_b - common);
}

#endif  // LEAT_OPS_IMAGE_BOX_CPU_H_
