// Digits without a download, for a machine that does not have MNIST: each is a few strokes (smooth
// curves through points), drawn with a random hand: shifted points, slant, rotation, size,
// thickness, ink and noise. A curve is cut into short straight pieces, and a pixel is as dark as
// the nearest piece is near. The variations are wide enough that a network has something to learn,
// yet a person would read every digit. The numbers come from a generator with a fixed seed, so that
// every run trains on the same pictures.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mnist.h"

#define STEPS 6          // straight pieces between two points of a stroke
#define MAX_PIECES 128

typedef struct { float x, y; } point_t;
typedef struct { point_t a, b; } piece_t;

// Points of the strokes, x to the right, y down, in percent; {-1, -1} ends a stroke.
static const signed char kGlyphs[CLASSES][24][2] = {
    {{50, 10}, {74, 24}, {80, 50}, {74, 76}, {50, 90}, {26, 76}, {20, 50}, {26, 24}, {50, 10},
     {-1, -1}},
    {{34, 27}, {44, 20}, {53, 10}, {-1, -1}, {53, 10}, {51, 50}, {50, 90}, {-1, -1}},
    {{24, 30}, {36, 13}, {60, 10}, {75, 27}, {66, 50}, {42, 72}, {22, 90}, {-1, -1},
     {22, 90}, {50, 88}, {80, 90}, {-1, -1}},
    {{25, 18}, {50, 10}, {72, 22}, {67, 40}, {44, 48}, {-1, -1}, {44, 48}, {72, 56}, {78, 74},
     {55, 90}, {25, 84}, {-1, -1}},
    {{62, 90}, {64, 50}, {63, 10}, {-1, -1}, {60, 10}, {40, 35}, {20, 62}, {-1, -1}, {20, 62},
     {50, 63}, {85, 62}, {-1, -1}},
    {{75, 12}, {52, 11}, {32, 13}, {-1, -1}, {32, 13}, {29, 30}, {28, 45}, {-1, -1}, {28, 45},
     {50, 38}, {74, 50}, {76, 72}, {55, 90}, {25, 85}, {-1, -1}},
    {{68, 12}, {45, 25}, {28, 50}, {27, 75}, {50, 90}, {73, 77}, {68, 57}, {48, 51}, {30, 63},
     {-1, -1}},
    {{22, 13}, {50, 11}, {78, 12}, {-1, -1}, {78, 12}, {60, 45}, {42, 90}, {-1, -1}},
    {{50, 48}, {30, 36}, {30, 18}, {50, 10}, {70, 18}, {70, 36}, {50, 48}, {25, 62}, {26, 82},
     {50, 90}, {74, 82}, {75, 62}, {50, 48}, {-1, -1}},
    {{70, 38}, {52, 50}, {30, 40}, {30, 20}, {50, 10}, {70, 20}, {72, 40}, {70, 65}, {60, 90},
     {-1, -1}},
};

// xorshift; in [-1, 1)
static float noise(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

// Catmull-Rom: the curve from b to c, with a before and d behind.
static point_t curve(point_t a, point_t b, point_t c, point_t d, float t) {
  float t2 = t * t, t3 = t2 * t;
  float wa = -0.5f * t3 + t2 - 0.5f * t, wb = 1.5f * t3 - 2.5f * t2 + 1;
  float wc = -1.5f * t3 + 2 * t2 + 0.5f * t, wd = 0.5f * t3 - 0.5f * t2;
  return (point_t){wa * a.x + wb * b.x + wc * c.x + wd * d.x,
                   wa * a.y + wb * b.y + wc * c.y + wd * d.y};
}

static int add_stroke(const point_t* points, int count, piece_t* pieces) {
  int made = 0;
  for (int i = 0; i + 1 < count; ++i) {
    point_t a = points[i > 0 ? i - 1 : 0], b = points[i], c = points[i + 1];
    point_t d = points[i + 2 < count ? i + 2 : i + 1], from = b;
    for (int k = 1; k <= STEPS; ++k) {
      point_t to = curve(a, b, c, d, (float)k / STEPS);
      pieces[made++] = (piece_t){from, to};
      from = to;
    }
  }
  return made;
}

// One hand: how this digit is bent and where it stands, in pixels.
typedef struct { float xx, xy, yx, yy, x0, y0, wobble; } hand_t;

static hand_t random_hand(uint32_t* state) {
  float angle = 0.2f * noise(state), slant = 0.36f * noise(state);
  float width = 17.5f * (1 + 0.16f * noise(state)), height = 20 * (1 + 0.1f * noise(state));
  float c = cosf(angle), s = sinf(angle);
  return (hand_t){width * c, height * (-s - slant * c), width * s, height * (c - slant * s),
                  13.5f + 2 * noise(state), 13.5f + 2 * noise(state), 0.09f};
}

static int place_strokes(int digit, const hand_t* h, uint32_t* state, piece_t* pieces) {
  point_t stroke[24];
  int points = 0, made = 0;
  for (int i = 0; i < 24; ++i) {
    const signed char* g = kGlyphs[digit][i];
    if (g[0] == 0 && g[1] == 0) break;
    if (g[0] < 0) {
      made += add_stroke(stroke, points, pieces + made);
      points = 0;
      continue;
    }
    float x = (float)g[0] / 100 - 0.5f + h->wobble * noise(state);
    float y = (float)g[1] / 100 - 0.5f + h->wobble * noise(state);
    stroke[points++] = (point_t){h->x0 + h->xx * x + h->xy * y, h->y0 + h->yx * x + h->yy * y};
  }
  return made;
}

static float distance2(point_t p, const piece_t* piece) {
  float dx = piece->b.x - piece->a.x, dy = piece->b.y - piece->a.y;
  float length2 = dx * dx + dy * dy + 1e-9f;
  float t = ((p.x - piece->a.x) * dx + (p.y - piece->a.y) * dy) / length2;
  t = t < 0 ? 0 : t > 1 ? 1 : t;
  float ex = p.x - piece->a.x - t * dx, ey = p.y - piece->a.y - t * dy;
  return ex * ex + ey * ey;
}

static void draw(int digit, uint32_t* state, float* pixels) {
  piece_t pieces[MAX_PIECES];
  hand_t hand = random_hand(state);
  int count = place_strokes(digit, &hand, state, pieces);
  float radius = 1.1f + 0.6f * noise(state), ink = 0.92f + 0.08f * noise(state);
  for (int y = 0; y < SIDE; ++y) {
    for (int x = 0; x < SIDE; ++x) {
      float nearest = 1e9f;
      for (int i = 0; i < count; ++i) {
        float d = distance2((point_t){(float)x, (float)y}, &pieces[i]);
        if (d < nearest) nearest = d;
      }
      float edge = radius + 0.5f - sqrtf(nearest);
      float value = ink * (edge < 0 ? 0 : edge > 1 ? 1 : edge) + 0.25f * noise(state);
      pixels[y * SIDE + x] = value < 0 ? 0 : value > 1 ? 1 : value;
    }
  }
}

int digits_render(int count, uint32_t seed, dataset_t* out) {
  out->count = count;
  out->pixels = malloc((size_t)count * PIXELS * sizeof(float));
  out->labels = malloc((size_t)count * sizeof(int32_t));
  if (!out->pixels || !out->labels) return 0;
  uint32_t state = seed * 2654435761u + 1;
  for (int i = 0; i < count; ++i) {
    out->labels[i] = i % CLASSES;
    draw(out->labels[i], &state, out->pixels + (size_t)i * PIXELS);
  }
  return 1;
}

void dataset_free(dataset_t* set) {
  free(set->pixels);
  free(set->labels);
  memset(set, 0, sizeof *set);
}
