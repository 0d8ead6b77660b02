// leat/leat.hpp: the C++17 front end, over the C API. docs/cpp.md shows how it is used.
//
//   #include "leat/leat.hpp"
//   #include "leat/ops/matrix.hpp"   // a header for each family of ops; leat/ops.hpp has all
//   using namespace leat;
//
//   Scope scope;
//   auto x = ops::Placeholder(scope, DT_FLOAT);
//   auto y = ops::MatMul(scope, {{1.f, 2.f}}, x);
//   Session session(scope);
//   float sum = session.run({{x, {{3.f}, {4.f}}}}, {y})[0].scalar<float>();   // 11
//
// Everything is inline; a program links libleat, a C library, and nothing else. By subject:
//
//   leat/cpp/handle.hpp    who owns an object; lists as arguments
//   leat/cpp/status.hpp    errors, as exceptions or as results
//   leat/cpp/tensor.hpp    values
//   leat/cpp/attribute.hpp attributes of operations
//   leat/cpp/graph.hpp     graphs, scopes, operations
//   leat/cpp/session.hpp   running, servers
//   leat/cpp/variable.hpp  variables
//   leat/cpp/train.hpp     gradients, optimizers
//   leat/cpp/flow.hpp      loops, conditionals, functions
//   leat/cpp/saver.hpp     checkpoints
//   leat/cpp/saved_model.hpp
//   leat/cpp/input.hpp     queue runners
//   leat/cpp/supervisor.hpp  training that goes on after faults
#ifndef LEAT_LEAT_HPP_
#define LEAT_LEAT_HPP_

#include "leat/cpp/attribute.hpp"
#include "leat/cpp/flow.hpp"
#include "leat/cpp/graph.hpp"
#include "leat/cpp/handle.hpp"
#include "leat/cpp/input.hpp"
#include "leat/cpp/saved_model.hpp"
#include "leat/cpp/saver.hpp"
#include "leat/cpp/session.hpp"
#include "leat/cpp/status.hpp"
#include "leat/cpp/supervisor.hpp"
#include "leat/cpp/tensor.hpp"
#include "leat/cpp/train.hpp"
#include "leat/cpp/variable.hpp"

#endif  // LEAT_LEAT_HPP_
