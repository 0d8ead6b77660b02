// The gradient functions of Qr, Svd, SelfAdjointEig and Eig. They build nodes; UNIMPLEMENTED for
// the cases that TensorFlow does not have either (unknown shapes, some full factors).
#ifndef LEAT_OPS_MATRIX_DECOMPOSITION_GRADIENT_H_
#define LEAT_OPS_MATRIX_DECOMPOSITION_GRADIENT_H_

#include "graph/gradient.h"

LEAT_MUST_USE leat_status_t leat_qr_gradient(leat_gradient_t* g);
LEAT_MUST_USE leat_status_t leat_svd_gradient(leat_gradient_t* g);
LEAT_MUST_USE leat_status_t leat_self_adjoint_eig_gradient(leat_gradient_t* g);
LEAT_MUST_USE leat_status_t leat_eig_gradient(leat_gradient_t* g);

#endif  // LEAT_OPS_MATRIX_DECOMPOSITION_GRADIENT_H_
