// Special functions: gamma, beta, zeta and Bessel functions, and the integrals named after Dawson,
// Fresnel and Spence. The C library has few of them, so the values are from published tables, to
// about 17 digits, and float results must agree within float's rounding. Derivatives are compared
// with differences where they exist. At poles and outside of a function's domain the result is an
// infinity or NaN and never an error, because an element of a large tensor cannot fail alone.
#include <math.h>

#include "op_harness/op_harness.h"

#define V(...) LEAT_ITEMS(DOUBLE, LEAT_DIMS(3), __VA_ARGS__)
#define ONE(op_name, gradient_check, in, out)                                            \
  {.op = op_name,                                                                        \
   .inputs = {in},                                                                       \
   .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),                              \
   .expected = {out},                                                                    \
   .gradient = LEAT_GRADIENT_##gradient_check}

static const leat_op_case_t kCases[] = {
    ONE("Lgamma", TWICE, V(0.5, 3, 10),
        V(0.57236494292470009, 0.69314718055994531, 12.801827480081469)),
    ONE("Digamma", ONCE, V(0.5, 1, 12.5),
        V(-1.9635100260214235, -0.57721566490153286, 2.4851956512749120)),
    ONE("Ndtri", TWICE, V(0.1, 0.5, 0.9), V(-1.2815515655446004, 0, 1.2815515655446004)),
    ONE("Erfinv", TWICE, V(-0.5, 0, 0.25), V(-0.47693627620446987, 0, 0.22531205501217809)),
    ONE("BesselI0", TWICE, V(-1, 0.5, 3),
        V(1.2660658777520084, 1.0634833707413236, 4.8807925858650245)),
    ONE("BesselI1e", TWICE, V(-1, 0.5, 30),
        V(-0.20791041534970845, 0.15642080318487169, 0.071916330598647555)),
    ONE("BesselK0", TWICE, V(0.1, 1, 5),
        V(2.4270690247020166, 0.42102443824070833, 0.0036910983340425942)),
    ONE("BesselK1e", TWICE, V(0.1, 1, 5),
        V(10.890182683049698, 1.636153486263258, 0.60027385878831826)),
    ONE("BesselJ0", TWICE, V(0.5, 1, 5),
        V(0.93846980724081291, 0.76519768655796655, -0.17759677131433830)),
    ONE("BesselY1", TWICE, V(0.5, 1, 5),
        V(-1.4714723926702430, -0.78121282130028872, 0.14786314339122684)),
    ONE("Dawsn", ONCE, V(-1, 0.1, 4),
        V(-0.53807950691276842, 0.099335992397852866, 0.12934800123600512)),
    ONE("Expint", ONCE, V(0.5, 1, 5),
        V(0.45421990486317358, 1.8951178163559368, 40.185275355803177)),
    ONE("FresnelCos", ONCE, V(-0.5, 1, 3),
        V(-0.49234422587144639, 0.77989340037682283, 0.60572078929765434)),
    ONE("FresnelSin", ONCE, V(-0.5, 1, 3),
        V(-0.064732432859999287, 0.43825914739035477, 0.49631299896737480)),
    {.op = "FresnelSin",
     .name = "FresnelSin, taken for its limit",
     .inputs = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 36973, -36975)},
     .expected = {LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 0.4999999999992233, -0.5)},
     .tolerance = 1e-12},
    ONE("Spence", ONCE, V(0.25, 0.75, 3),
        V(0.97846939293030610, 0.26765263908273260, -1.4367463668836809)),
    {.op = "Igamma",
     .inputs = {V(0.5, 2, 10), V(1, 1, 12)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {V(0.84270079294971487, 0.26424111765711536, 0.75760783832948765)},
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "Igammac",
     .inputs = {V(0.5, 2, 10), V(1, 1, 12)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {V(0.15729920705028513, 0.73575888234288464, 0.24239216167051235)},
     .gradient = LEAT_GRADIENT_ONCE},
    {.op = "Zeta",
     .inputs = {V(2, 3, 4), V(1, 2, 0.5)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {V(1.6449340668482264, 0.20205690315959429, 16.234848505667070)},
     .gradient = LEAT_GRADIENT_ONCE,
     .constant_inputs = 1},
    {.op = "Polygamma",
     .inputs = {V(1, 2, 0), V(1, 2, 0.5)},
     .expected = {V(1.6449340668482264, -0.40411380631918857, -1.9635100260214235)},
     .gradient = LEAT_GRADIENT_ONCE,
     .constant_inputs = 1},
    {.op = "Betainc",
     .inputs = {V(0.5, 2, 5), V(0.5, 3, 1), V(0.25, 0.5, 0.9)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .expected = {V(1 / 3.0, 0.6875, 0.59049)},
     .gradient = LEAT_GRADIENT_ONCE,
     .constant_inputs = 3},
    {.op = "Digamma",
     .name = "poles",
     .inputs = {V(0, -1, -INFINITY)},
     .expected = {V(NAN, NAN, NAN)}},
    {.op = "Igamma",
     .name = "outside",
     .inputs = {V(-1, 1, 1), V(1, -1, 0)},
     .expected = {V(NAN, NAN, 0)}},
    {.op = "BesselK0",
     .name = "outside",
     .inputs = {V(0, -1, INFINITY)},
     .expected = {V(INFINITY, INFINITY, 0)}},
#define LARGEST(op_name, value)                                                     \
  {.op = op_name,                                                                  \
   .name = op_name " of nearly the largest number",                                \
   .inputs = {LEAT_SCALAR_ITEM(DOUBLE, 1.7e308)},                                  \
   .expected = {LEAT_SCALAR_ITEM(DOUBLE, value)}}
    // Twice the argument is no number any more, and the scaled functions are about 1e-154: I0 is
    // infinite only if I0e is not 0.
    LARGEST("BesselI0", INFINITY),
    LARGEST("BesselI1", INFINITY),
    LARGEST("BesselK0", 0),
    LARGEST("BesselK1", 0),
    LARGEST("BesselK0e", 9.612480633484341e-155),
    LARGEST("BesselK1e", 9.612480633484341e-155),
    // Half of the argument is a subnormal number, which threads of kernels take for 0; 1 / x.
    {.op = "BesselK1",
     .name = "BesselK1 of nearly the least number",
     .inputs = {LEAT_SCALAR_ITEM(DOUBLE, 2.3e-308)},
     .expected = {LEAT_SCALAR_ITEM(DOUBLE, 4.3478260869565215e307)},
     .tolerance = 1e-12},
    {.op = "Betainc",
     .name = "shapes that differ",
     .inputs = {V(0.5, 2, 5), LEAT_ITEMS(DOUBLE, LEAT_DIMS(2), 1, 2), V(0.25, 0.5, 0.9)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
