// leat/cpp/tensor.hpp: values. Part of leat/leat.hpp.
//
// A Tensor is a handle: copies share the elements, as in TensorFlow's C++ API, and the last one
// frees them. Once a tensor was fed, or is the value of a constant, nobody may write to its
// elements while the step runs, or any more. Handles may be read by several threads at once.
#ifndef LEAT_CPP_TENSOR_HPP_
#define LEAT_CPP_TENSOR_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "leat/cpp/status.hpp"

LEAT_CPP_BEGIN_NAMESPACE

using DataType = TF_DataType;
constexpr DataType DT_FLOAT = TF_FLOAT, DT_DOUBLE = TF_DOUBLE, DT_HALF = TF_HALF,
                   DT_BFLOAT16 = TF_BFLOAT16, DT_INT8 = TF_INT8, DT_INT16 = TF_INT16,
                   DT_INT32 = TF_INT32, DT_INT64 = TF_INT64, DT_UINT8 = TF_UINT8,
                   DT_UINT16 = TF_UINT16, DT_UINT32 = TF_UINT32, DT_UINT64 = TF_UINT64,
                   DT_BOOL = TF_BOOL, DT_STRING = TF_STRING, DT_COMPLEX64 = TF_COMPLEX64,
                   DT_COMPLEX128 = TF_COMPLEX128, DT_RESOURCE = TF_RESOURCE,
                   DT_VARIANT = TF_VARIANT;

/// The DataType of a C++ type: `dtype_of<float>::value`. Types of the caller's own that are laid
/// out as a tensor's elements may be added by a specialisation (leat/cpp/complex.hpp does so).
template <class T, class = void>
struct dtype_of {};
template <>
struct dtype_of<float> : std::integral_constant<DataType, TF_FLOAT> {};
template <>
struct dtype_of<double> : std::integral_constant<DataType, TF_DOUBLE> {};
template <>
struct dtype_of<bool> : std::integral_constant<DataType, TF_BOOL> {};
template <class T>
struct dtype_of<T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>>
    : std::integral_constant<DataType, sizeof(T) == 8   ? std::is_signed<T>::value ? TF_INT64
                                                                                    : TF_UINT64
                                       : sizeof(T) == 4 ? std::is_signed<T>::value ? TF_INT32
                                                                                    : TF_UINT32
                                       : sizeof(T) == 2 ? std::is_signed<T>::value ? TF_INT16
                                                                                    : TF_UINT16
                                       : std::is_signed<T>::value ? TF_INT8
                                                                  : TF_UINT8> {};

namespace detail {
template <class T, class = void>
struct is_element : std::false_type {};
template <class T>
struct is_element<T, std::void_t<decltype(dtype_of<T>::value)>> : std::true_type {};
template <class T>
using if_element = std::enable_if_t<is_element<T>::value>;
template <class T>
using if_text = std::enable_if_t<std::is_convertible<const T&, std::string_view>::value>;
/// What a list in braces may hold.
template <class T>
using if_value = std::enable_if_t<is_element<T>::value ||
                                  std::is_convertible<const T&, std::string_view>::value>;
}  // namespace detail

/// Elements one behind the other, borrowed. Converts to std::span where there is one.
template <class T>
class span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  constexpr span() = default;
  constexpr span(T* data, std::size_t size) : data_(data), size_(size) {}
  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Sizes of the dimensions, -1 for one that is not known; or nothing at all: an unknown rank.
class TensorShape {
 public:
  TensorShape() = default;  // of a scalar
  LEAT_CPP_CALL TensorShape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit TensorShape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}
  LEAT_CPP_CALL TensorShape(const TensorShape& other) = default;
  TensorShape(TensorShape&& other) = default;
  LEAT_CPP_CALL TensorShape& operator=(const TensorShape& other) = default;
  TensorShape& operator=(TensorShape&& other) = default;
  LEAT_CPP_CALL ~TensorShape() = default;
  static TensorShape unknown() {
    TensorShape shape;
    shape.known_ = false;
    return shape;
  }
  bool known_rank() const { return known_; }
  /// -1 when it is unknown.
  int rank() const { return known_ ? static_cast<int>(dims_.size()) : -1; }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  /// The number of elements; -1 where a size is unknown, or no int64 holds the number.
  std::int64_t count() const {
    std::int64_t count = 1;
    for (std::int64_t d : dims_) {
      if (d < 0 || __builtin_mul_overflow(count, d, &count)) return -1;
    }
    return known_ ? count : -1;
  }
  bool operator==(const TensorShape& other) const {
    return known_ == other.known_ && dims_ == other.dims_;
  }
  bool operator!=(const TensorShape& other) const { return !(*this == other); }
  /// "[2,?]", or "?" for an unknown rank.
  LEAT_CPP_COLD std::string text() const {
    if (!known_) return "?";
    std::string text = "[";
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      text += (i ? "," : "") + (dims_[i] < 0 ? std::string("?") : std::to_string(dims_[i]));
    }
    return text + "]";
  }

 private:
  std::vector<std::int64_t> dims_;
  bool known_ = true;
};

/// A dense array of elements of one type, in row-major order.
class Tensor {
 public:
  /// No tensor at all; `if (tensor)` tells.
  Tensor() = default;
  /// Elements that are zero (strings: empty). Empty where the shape is not valid or memory is gone.
  Tensor(DataType dtype, const TensorShape& shape) : Tensor(allocate(dtype, shape)) {
    if (tensor_ && bytes() && dtype != TF_RESOURCE && dtype != TF_VARIANT) {
      std::memset(data(), 0, bytes());  // an empty string is zeros too
    }
  }
  /// Takes over a tensor of the C API.
  explicit Tensor(TF_Tensor* tensor) {
    tensor_ = detail::Shared<TF_Tensor>::of<TF_DeleteTensor>(tensor);
  }

  /// A scalar.
  template <class T, class = detail::if_element<T>>
  Tensor(T value) : Tensor(allocate(dtype_of<T>::value, {})) {
    if (tensor_) *static_cast<T*>(data()) = value;
  }
  Tensor(const char* text) : Tensor(std::string_view(text)) {}
  Tensor(const std::string& text) : Tensor(std::string_view(text)) {}
  Tensor(std::string_view text) : Tensor(TF_STRING, TensorShape()) { set_string(0, text); }

  /// Values in braces: a vector, a matrix and so on. Rows must have one length: INVALID_ARGUMENT
  /// is thrown otherwise; without exceptions the tensor is empty.
  template <class T, class = detail::if_value<T>>
  Tensor(std::initializer_list<T> values) {
    fill<T>({static_cast<std::int64_t>(values.size())}, values);
  }
  template <class T, class = detail::if_value<T>>
  LEAT_CPP_COLD Tensor(std::initializer_list<std::initializer_list<T>> rows) {
    const std::size_t columns = rows.size() ? rows.begin()->size() : 0;
    bool even = true;
    for (const auto& row : rows) even = even && row.size() == columns;
    std::int64_t i = 0;
    if (!make<T>({std::int64_t(rows.size()), even ? std::int64_t(columns) : -1})) return;
    for (const auto& row : rows) {
      for (const T& value : row) put(i++, value);
    }
  }
  template <class T, class = detail::if_value<T>>
  LEAT_CPP_COLD Tensor(
      std::initializer_list<std::initializer_list<std::initializer_list<T>>> blocks) {
    const std::size_t rows = blocks.size() ? blocks.begin()->size() : 0;
    const std::size_t columns = rows ? blocks.begin()->begin()->size() : 0;
    bool even = true;
    for (const auto& block : blocks) {
      even = even && block.size() == rows;
      for (const auto& row : block) even = even && row.size() == columns;
    }
    std::int64_t i = 0;
    if (!make<T>({std::int64_t(blocks.size()), std::int64_t(rows),
                  even ? std::int64_t(columns) : -1})) {
      return;
    }
    for (const auto& block : blocks) {
      for (const auto& row : block) {
        for (const T& value : row) put(i++, value);
      }
    }
  }
  /// A copy of the values, as a vector or in the shape that is given.
  template <class T, class = detail::if_value<T>>
  Tensor(const std::vector<T>& values) {
    fill<T>({static_cast<std::int64_t>(values.size())}, values);
  }
  template <class T, class = detail::if_value<T>>
  Tensor(const std::vector<T>& values, const TensorShape& shape) {
    fill<T>(shape, values);
  }

  /// Over the caller's elements without a copy; |deleter|() is called when the last user is done,
  /// on any thread, and does not throw. Memory that is not aligned to TF_TensorDefaultAlignment()
  /// is copied, and the deleter called before this returns. Empty where the shape is not valid.
  template <class T, class Deleter, class = detail::if_element<T>>
  static Tensor over(T* data, const TensorShape& shape, Deleter deleter) {
    auto* owned = new Deleter(std::move(deleter));
    const std::size_t size = size_of(shape, sizeof(T));
    return Tensor(TF_NewTensor(
        dtype_of<T>::value, shape.dims().data(), shape.rank(), data, size,
        [](void*, std::size_t, void* argument) {
          auto* deleter = static_cast<Deleter*>(argument);
          (*deleter)();
          delete deleter;
        },
        owned));
  }
  /// The same over memory that outlives every use of the tensor.
  template <class T, class = detail::if_element<T>>
  static Tensor borrow(T* data, const TensorShape& shape) {
    return over(data, shape, [] {});
  }
  /// Over the elements of a vector, which is moved here. As aligned as the vector is.
  template <class T, class = detail::if_element<T>>
  static Tensor adopt(std::vector<T> values, const TensorShape& shape) {
    if (shape.count() != static_cast<std::int64_t>(values.size())) return misshapen(shape);
    const detail::Shared<std::vector<T>> kept(new std::vector<T>(std::move(values)));
    return over(kept->data(), shape, [kept] {});
  }

  explicit operator bool() const { return static_cast<bool>(tensor_); }
  /// Borrowed; NULL for an empty tensor.
  TF_Tensor* get() const { return tensor_.get(); }
  DataType dtype() const { return TF_TensorType(tensor_.get()); }
  LEAT_CPP_CALL TensorShape shape() const {
    std::vector<std::int64_t> dims(tensor_ ? TF_NumDims(tensor_.get()) : 0);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      dims[i] = TF_Dim(tensor_.get(), static_cast<int>(i));
    }
    return TensorShape(std::move(dims));
  }
  std::int64_t count() const { return tensor_ ? TF_TensorElementCount(tensor_.get()) : 0; }
  std::size_t bytes() const { return tensor_ ? TF_TensorByteSize(tensor_.get()) : 0; }
  void* data() const { return tensor_ ? TF_TensorData(tensor_.get()) : nullptr; }

  /// The elements. INVALID_ARGUMENT is thrown when T is not their type; without exceptions the
  /// span is empty.
  template <class T>
  leat::span<T> span() const {
    static_assert(detail::is_element<std::remove_const_t<T>>::value, "no element of a tensor");
    if (!check(dtype_of<std::remove_const_t<T>>::value)) return {};
    return {static_cast<T*>(data()), static_cast<std::size_t>(count())};
  }
  /// The first element; T() when span<T>() is empty.
  template <class T>
  T scalar() const {
    const auto elements = span<T>();
    return elements.empty() ? T() : elements[0];
  }
  /// The element at the indices: `t.at<float>(row, column)`. Indices are not checked.
  template <class T, class... Index>
  T& at(Index... index) const {
    std::int64_t place = 0;
    int dimension = 0;
    ((place = place * TF_Dim(tensor_.get(), dimension++) + static_cast<std::int64_t>(index)), ...);
    return static_cast<T*>(data())[place];
  }
  /// A copy of the elements.
  template <class T>
  std::vector<T> to_vector() const {
    const auto elements = span<T>();
    return std::vector<T>(elements.begin(), elements.end());
  }

  /// The string at position |i| in row-major order, borrowed. "" where there is none.
  std::string_view string(std::int64_t i = 0) const {
    if (!check(TF_STRING) || i < 0 || i >= count()) return {};
    const auto* s = static_cast<const TF_TString*>(data()) + i;
    return {TF_TString_GetDataPointer(s), TF_TString_GetSize(s)};
  }
  void set_string(std::int64_t i, std::string_view text) {
    if (!check(TF_STRING) || i < 0 || i >= count()) return;
    TF_TString_Copy(static_cast<TF_TString*>(data()) + i, text.data(), text.size());
  }
  std::vector<std::string> strings() const {
    std::vector<std::string> all;
    for (std::int64_t i = 0; check(TF_STRING) && i < count(); ++i) all.emplace_back(string(i));
    return all;
  }

  /// Another shape over the same elements.
  result<Tensor> reshaped(const TensorShape& shape) const {
    if (!tensor_ || shape.count() != count()) {
      return detail::finish(
          Status(TF_INVALID_ARGUMENT, "reshape failed: a tensor of shape " + this->shape().text() +
                                          " has no shape " + shape.text()),
          [] { return Tensor(); });
    }
    Tensor other(allocate(TF_UINT8, {0}));
    detail::CallStatus status;
    if (dtype() == TF_STRING) {
      Tensor copy(TF_STRING, shape);
      for (std::int64_t i = 0; i < count(); ++i) copy.set_string(i, string(i));
      return copy;
    }
    TF_TensorBitcastFrom(get(), dtype(), other.get(), shape.dims().data(), shape.rank(), status);
    return detail::finish(status.get(), [&] { return other; });
  }

 private:
  /// Bytes of the elements; 0 for a shape that no memory can have, which the C API refuses.
  static std::size_t size_of(const TensorShape& shape, std::size_t element) {
    std::size_t size = 0;
    const std::int64_t count = shape.count();
    const bool fits = count >= 0 && !__builtin_mul_overflow(count, element, &size);
    return fits ? size : 0;
  }
  static TF_Tensor* allocate(DataType dtype, const TensorShape& shape) {
    const std::size_t size = dtype == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(dtype);
    return TF_AllocateTensor(dtype, shape.dims().data(), shape.rank(), size_of(shape, size));
  }
  bool check(DataType dtype) const {
    if (tensor_ && this->dtype() == dtype) return true;
    mistyped(dtype);
    return false;
  }
  LEAT_CPP_COLD void mistyped(DataType dtype) const {
    (void)detail::finish(Status(TF_INVALID_ARGUMENT,
                                "reading a tensor failed: its type is " +
                                    std::to_string(tensor_ ? this->dtype() : 0) +
                                    ", must be " + std::to_string(dtype) + " (TF_DataType)"));
  }
  LEAT_CPP_COLD static Tensor misshapen(const TensorShape& shape) {
    (void)detail::finish(Status(TF_INVALID_ARGUMENT, "making a tensor failed: the values do not "
                                                     "fill shape " + shape.text()));
    return Tensor();
  }
  /// Becomes a tensor of this shape for elements that put() takes, unless memory is gone. A shape
  /// with a size of -1 is that of values which fill none.
  template <class T>
  bool make(const TensorShape& shape) {
    if (shape.count() < 0) {
      *this = misshapen(shape);
    } else if constexpr (detail::is_element<T>::value) {
      *this = Tensor(allocate(dtype_of<T>::value, shape));
    } else {
      *this = Tensor(TF_STRING, shape);
    }
    return data() != nullptr;
  }
  template <class T>
  void put(std::int64_t i, const T& value) {
    if constexpr (detail::is_element<T>::value) {
      static_cast<T*>(data())[i] = value;
    } else {
      set_string(i, value);
    }
  }
  template <class T, class Values>
  void fill(const TensorShape& shape, const Values& values) {
    if (shape.count() != static_cast<std::int64_t>(values.size())) {
      *this = misshapen(shape);
    } else if (make<T>(shape)) {
      std::int64_t i = 0;
      for (auto value = values.begin(); value != values.end(); ++value) put<T>(i++, *value);
    }
  }

  detail::Shared<TF_Tensor> tensor_;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_TENSOR_HPP_
