// How the ops of this library are written: a class for a kernel, a list of strings for an op.
//
//   class Lengths {
//    public:
//     explicit Lengths(const Attributes&) {}
//     void run(Run& run) const { ... run.input(0).text(i).size() ... run.output(0, values); }
//   };
//   register_op({"Lengths", {"input: string"}, {"output: int64"}, {}, of_ranks<1>});
//   register_kernel<Lengths>("Lengths", {});
//
// It is a thin layer over tensorflow/c/{ops,kernels,tf_tensor,tf_tstring}.h, which owns what those
// functions give, and turns a failed TF_Status into an exception and an exception into the failure
// of the run. No exception leaves this library: create and compute, which the runtime calls, catch
// all. A runtime calls one kernel from several threads at once, so |run| is const.
#ifndef TEXT_KERNEL_HPP_
#define TEXT_KERNEL_HPP_

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_tstring.h"

namespace text {

// ---- Failure ------------------------------------------------------------------------------------

// Why an op cannot be declared, a kernel not be made or a run not end.
struct Failure {
  TF_Code code;
  std::string why;
};

[[noreturn]] inline void refuse(const std::string& why) {
  throw Failure{TF_INVALID_ARGUMENT, why};
}

// A status that throws what it was set to.
class Status {
 public:
  Status() : status_(TF_NewStatus()) {
    if (!status_) throw std::bad_alloc();
  }
  ~Status() { TF_DeleteStatus(status_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  TF_Status* get() { return status_; }
  void check() {
    if (TF_GetCode(status_) != TF_OK) throw Failure{TF_GetCode(status_), TF_Message(status_)};
  }

 private:
  TF_Status* status_;
};

// Calls |body| and sets |status| to what it throws, with |who| before it.
template <typename Body>
void guard(TF_Status* status, const std::function<std::string()>& who, const Body& body) {
  TF_Code code = TF_RESOURCE_EXHAUSTED;
  std::string why = "memory ran out";
  try {
    body();
    return;
  } catch (const Failure& failure) {
    code = failure.code;
    why = failure.why;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (const std::exception& error) {
    code = TF_INTERNAL;
    why = error.what();
  }
  TF_SetStatus(status, code, (who() + ": " + why).c_str());
}

// ---- Tensors ------------------------------------------------------------------------------------

template <typename T>
constexpr TF_DataType kType = std::is_same_v<T, int32_t>   ? TF_INT32
                              : std::is_same_v<T, int64_t> ? TF_INT64
                              : std::is_same_v<T, float>   ? TF_FLOAT
                              : std::is_same_v<T, double>  ? TF_DOUBLE
                              : std::is_same_v<T, bool>    ? TF_BOOL
                                                           : TF_STRING;

struct TensorDeleter {
  void operator()(TF_Tensor* tensor) const { TF_DeleteTensor(tensor); }
};
using TensorPointer = std::unique_ptr<TF_Tensor, TensorDeleter>;

// An input. It has a name, for messages.
class Input {
 public:
  Input() = default;
  Input(TF_Tensor* tensor, const char* name) : tensor_(tensor), name_(name) {}

  int rank() const { return TF_NumDims(tensor_.get()); }
  int64_t dim(int i) const { return TF_Dim(tensor_.get(), i); }
  int64_t count() const { return TF_TensorElementCount(tensor_.get()); }
  const char* name() const { return name_; }
  std::vector<int64_t> shape() const {
    std::vector<int64_t> dims(static_cast<size_t>(rank()));
    for (int i = 0; i < rank(); ++i) dims[static_cast<size_t>(i)] = dim(i);
    return dims;
  }

  // The elements; the op's declaration says which type they have.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(TF_TensorData(tensor_.get()));
  }
  std::string_view text(int64_t i) const {
    const TF_TString* string = data<TF_TString>() + i;
    return {TF_TString_GetDataPointer(string), TF_TString_GetSize(string)};
  }

  void must_have_rank(int wanted) const {
    if (rank() == wanted) return;
    refuse(std::string(name_) + " has rank " + std::to_string(rank()) + ", must have rank " +
           std::to_string(wanted));
  }
  template <typename T>
  T scalar() const {
    must_have_rank(0);
    return *data<T>();
  }

 private:
  TensorPointer tensor_;
  const char* name_ = "";
};

// The row splits of a ragged tensor: they begin with 0, never fall, and end with |value_count|.
template <typename T>
void check_splits(const Input& splits, int64_t value_count) {
  splits.must_have_rank(1);
  const std::string name = splits.name();
  const int64_t count = splits.count();
  const T* at = splits.data<T>();
  if (count == 0) refuse(name + " is empty, must have an element");
  if (at[0] != 0) refuse(name + "[0] is " + std::to_string(at[0]) + ", must be 0");
  for (int64_t i = 1; i < count; ++i) {
    if (at[i] >= at[i - 1]) continue;
    refuse(name + "[" + std::to_string(i) + "] is " + std::to_string(at[i]) +
           ", must be at least " + std::to_string(at[i - 1]) + " as the element before it");
  }
  if (at[count - 1] != value_count) {
    refuse(name + " ends with " + std::to_string(at[count - 1]) + ", must end with " +
           std::to_string(value_count) + ", the number of values");
  }
}

// ---- Runs ---------------------------------------------------------------------------------------

// One run of a kernel. Names of inputs are those of the op's declaration.
class Run {
 public:
  Run(TF_OpKernelContext* context, const std::vector<std::string>& input_names)
      : context_(context) {
    for (int i = 0; i < TF_NumInputs(context); ++i) {
      Status status;
      TF_Tensor* tensor = nullptr;
      TF_GetInput(context, i, &tensor, status.get());
      status.check();
      inputs_.emplace_back(tensor, input_names[static_cast<size_t>(i)].c_str());
    }
  }

  TF_OpKernelContext* context() { return context_; }
  const Input& input(int i) const { return inputs_[static_cast<size_t>(i)]; }

  // Output |i| becomes a new tensor, whose elements the caller writes; strings are empty.
  template <typename T>
  T* allocate(int i, const std::vector<int64_t>& shape) {
    int64_t count = 1, bytes = 0;
    for (int64_t dim : shape) {
      if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) throw std::bad_alloc();
    }
    if (__builtin_mul_overflow(count, static_cast<int64_t>(sizeof(T)), &bytes)) {
      throw std::bad_alloc();
    }
    Status status;
    TensorPointer tensor(TF_AllocateOutput(context_, i, kType<T>, shape.data(),
                                           static_cast<int>(shape.size()),
                                           static_cast<size_t>(bytes), status.get()));
    status.check();
    return static_cast<T*>(TF_TensorData(tensor.get()));  // the context owns the output too
  }

  // Output |i| becomes the vector |values|.
  template <typename T>
  void output(int i, const std::vector<T>& values) {
    T* at = allocate<T>(i, {static_cast<int64_t>(values.size())});
    if (!values.empty()) std::memcpy(at, values.data(), values.size() * sizeof(T));
  }
  void output(int i, const std::vector<std::string>& values) {
    TF_TString* at = allocate<TF_TString>(i, {static_cast<int64_t>(values.size())});
    for (const std::string& value : values) set(at++, value);
  }
  static void set(TF_TString* string, std::string_view value) {
    TF_TString_Copy(string, value.data(), value.size());
    if (TF_TString_GetSize(string) != value.size()) throw std::bad_alloc();
  }

 private:
  TF_OpKernelContext* context_;
  std::vector<Input> inputs_;
};

// The attributes of a node, while its kernel is made.
class Attributes {
 public:
  explicit Attributes(TF_OpKernelConstruction* construction) : construction_(construction) {}

  std::string node() const {
    const TF_StringView name = TF_OpKernelConstruction_GetName(construction_);
    return {name.data, name.len};
  }
  bool flag(const char* name) const {
    TF_Bool value = 0;
    Status status;
    TF_OpKernelConstruction_GetAttrBool(construction_, name, &value, status.get());
    status.check();
    return value != 0;
  }
  int64_t number(const char* name) const {
    int64_t value = 0;
    Status status;
    TF_OpKernelConstruction_GetAttrInt64(construction_, name, &value, status.get());
    status.check();
    return value;
  }
  std::string text(const char* name) const {
    int32_t list_size = 0, bytes = 0;
    Status status;
    TF_OpKernelConstruction_GetAttrSize(construction_, name, &list_size, &bytes, status.get());
    status.check();
    std::string value(bytes > 0 ? static_cast<size_t>(bytes) : 0, '\0');
    if (value.empty()) return value;
    TF_OpKernelConstruction_GetAttrString(construction_, name, value.data(), value.size(),
                                          status.get());
    status.check();
    return value;
  }

 private:
  TF_OpKernelConstruction* construction_;
};

// ---- Registration -------------------------------------------------------------------------------

// An op. Inputs, outputs and attributes are as TF_OpDefinitionBuilderAdd... take them.
struct Op {
  const char* name;
  std::vector<const char*> inputs;
  std::vector<const char*> outputs;
  std::vector<const char*> attributes;
  void (*shape)(TF_ShapeInferenceContext* context, TF_Status* status);
  bool is_stateful = false;
};
// Throws where the op cannot be declared, as where another library has declared it.
void register_op(const Op& op);
// The names of the inputs of an op that was declared; they live as long as the process.
const std::vector<std::string>& input_names(const std::string& op);

// Shape functions. of_ranks<1, 0>: input 0 is a vector and input 1 a scalar, and nothing is known
// of the outputs before the run: TensorFlow's C API has no way to write a vector of unknown length.
void check_rank(TF_ShapeInferenceContext* context, int input, int rank, TF_Status* status);
template <int... ranks>
void of_ranks(TF_ShapeInferenceContext* context, TF_Status* status) {
  int input = 0;
  (check_rank(context, input++, ranks, status), ...);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetUnknownShape(context, status);
}
// The only output has the shape of input |i|, or is a scalar.
template <int i>
void as_input(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(context, i, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(context, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}
void as_scalar(TF_ShapeInferenceContext* context, TF_Status* status);

// What the runtime keeps of a kernel of class |Kernel|.
template <typename Kernel>
struct Instance {
  Kernel kernel;
  const std::vector<std::string>& names;
  std::string op;
};

// The op's name, for the functions below, which the runtime calls without it.
template <typename Kernel>
std::string& op_of() {
  static std::string name;
  return name;
}

template <typename Kernel>
void* create(TF_OpKernelConstruction* construction) {
  TF_Status* status = TF_NewStatus();
  Attributes attributes(construction);
  Instance<Kernel>* instance = nullptr;
  guard(
      status,
      [&] { return op_of<Kernel>() + " cannot be made for node '" + attributes.node() + "'"; },
      [&] {
        const std::string& op = op_of<Kernel>();
        instance = new Instance<Kernel>{Kernel(attributes), input_names(op), op};
      });
  if (TF_GetCode(status) != TF_OK) TF_OpKernelConstruction_Failure(construction, status);
  TF_DeleteStatus(status);
  return instance;
}

template <typename Kernel>
void compute(void* kernel, TF_OpKernelContext* context) {
  const auto* instance = static_cast<const Instance<Kernel>*>(kernel);
  TF_Status* status = TF_NewStatus();
  guard(
      status,
      [&] {
        const TF_StringView name = TF_GetOpKernelName(context);
        return instance->op + " failed for node '" + std::string(name.data, name.len) + "'";
      },
      [&] {
        Run run(context, instance->names);
        instance->kernel.run(run);
      });
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(context, status);
  TF_DeleteStatus(status);
}

template <typename Kernel>
void destroy(void* kernel) {
  delete static_cast<Instance<Kernel>*>(kernel);
}

// A kernel on the CPU, for nodes whose attributes have these types. Each op has classes of its own.
struct Constraint {
  const char* attribute;
  TF_DataType type;
};
template <typename Kernel>
void register_kernel(const char* op, std::initializer_list<Constraint> constraints) {
  Status status;
  op_of<Kernel>() = op;
  TF_KernelBuilder* builder =
      TF_NewKernelBuilder(op, "CPU", create<Kernel>, compute<Kernel>, destroy<Kernel>);
  if (!builder) throw std::bad_alloc();
  for (const Constraint& constraint : constraints) {
    TF_KernelBuilder_TypeConstraint(builder, constraint.attribute, constraint.type, status.get());
  }
  TF_RegisterKernelBuilder(op, builder, status.get());
  status.check();
}

// ---- The ops ------------------------------------------------------------------------------------

void register_normalize();
void register_characters();
void register_regex_split();
void register_wordpiece();
void register_split_merge();
void register_sentencepiece();
void register_constrained_sequence();
void register_rouge();
void register_sentence_fragments();
void register_spanning_tree();

}  // namespace text

#endif  // TEXT_KERNEL_HPP_
