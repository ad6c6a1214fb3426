"""Functions on numbers and a few on lists: what is asked, how they may be called, the code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Body:
    """tasks: templates of the request (third person); NAME and NUM in the code are filled in."""

    tasks: list[str]
    names: list[str]
    code: str
    example: str = ""
    result: str = ""


def body_of(tasks: str, names: str, code: str, example: str = "", result: str = "") -> Body:
    return Body(tasks.split(" / "), names.split(), code, example, result)


NUMBERS: list[Body] = [
    body_of(
        "adds two numbers / returns the sum of two numbers / gives the sum of a and b",
        "add add_numbers plus",
        "def NAME(a, b):\n    return a + b",
        "NAME(2, 3)",
        "5",
    ),
    body_of(
        "subtracts two numbers / returns the difference of two numbers",
        "subtract difference minus",
        "def NAME(a, b):\n    return a - b",
        "NAME(7, 3)",
        "4",
    ),
    body_of(
        "multiplies two numbers / returns the product of two numbers",
        "multiply product times",
        "def NAME(a, b):\n    return a * b",
        "NAME(4, 5)",
        "20",
    ),
    body_of(
        "divides two numbers / divides a by b and checks for zero",
        "divide safe_divide quotient",
        "def NAME(a, b):\n    if b == 0:\n        return None\n    return a / b",
        "NAME(6, 3)",
        "2.0",
    ),
    body_of(
        "returns the square of a number / squares a number / computes x squared",
        "square squared",
        "def NAME(x):\n    return x * x",
        "NAME(5)",
        "25",
    ),
    body_of(
        "returns the cube of a number / cubes a number",
        "cube cubed",
        "def NAME(x):\n    return x ** 3",
        "NAME(3)",
        "27",
    ),
    body_of(
        "doubles a number / returns twice a number", "double twice", "def NAME(x):\n    return 2 * x", "NAME(4)", "8"
    ),
    body_of(
        "halves a number / returns half of a number", "half halve", "def NAME(x):\n    return x / 2", "NAME(8)", "4.0"
    ),
    body_of(
        "adds {n} to a number / increases a number by {n}", "add_some increase", "def NAME(x):\n    return x + NUM"
    ),
    body_of(
        "multiplies a number by {n} / returns {n} times a number",
        "scale multiply_by",
        "def NAME(x):\n    return x * NUM",
    ),
    body_of(
        "checks if a number is even / tells whether a number is even / returns True for even numbers",
        "is_even even check_even",
        "def NAME(n):\n    return n % 2 == 0",
        "NAME(4)",
        "True",
    ),
    body_of(
        "checks if a number is odd / tells whether a number is odd / returns True for odd numbers",
        "is_odd odd check_odd",
        "def NAME(n):\n    return n % 2 == 1",
        "NAME(3)",
        "True",
    ),
    body_of(
        "checks if a number is positive / tells whether a number is greater than zero",
        "is_positive positive",
        "def NAME(n):\n    return n > 0",
        "NAME(-1)",
        "False",
    ),
    body_of(
        "checks if a number is negative / tells whether a number is less than zero",
        "is_negative negative",
        "def NAME(n):\n    return n < 0",
        "NAME(-1)",
        "True",
    ),
    body_of(
        "checks if a number is divisible by {n} / tells whether {n} divides a number",
        "is_divisible divides",
        "def NAME(n):\n    return n % NUM == 0",
    ),
    body_of(
        "checks if a number is prime / tells whether a number is a prime / tests for prime numbers",
        "is_prime prime",
        "def NAME(n):\n    if n < 2:\n        return False\n    for i in range(2, int(n ** 0.5) + 1):\n        if n % i == 0:\n            return False\n    return True",
        "NAME(7)",
        "True",
    ),
    body_of(
        "lists the prime numbers up to n / returns all primes below n / finds the primes up to a limit",
        "primes list_primes",
        "def NAME(n):\n    result = []\n    for k in range(2, n + 1):\n        if all(k % p for p in result):\n            result.append(k)\n    return result",
        "NAME(10)",
        "[2, 3, 5, 7]",
    ),
    body_of(
        "computes the factorial of a number / returns the factorial of n / calculates n factorial",
        "factorial fact",
        "def NAME(n):\n    result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result",
        "NAME(5)",
        "120",
    ),
    body_of(
        "returns the nth Fibonacci number / computes Fibonacci numbers / calculates the Fibonacci number of n",
        "fibonacci fib",
        "def NAME(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a",
        "NAME(10)",
        "55",
    ),
    body_of(
        "lists the first n Fibonacci numbers / returns a list of Fibonacci numbers",
        "fibonacci_list fibs",
        "def NAME(n):\n    result = []\n    a, b = 0, 1\n    for _ in range(n):\n        result.append(a)\n        a, b = b, a + b\n    return result",
        "NAME(5)",
        "[0, 1, 1, 2, 3]",
    ),
    body_of(
        "returns the larger of two numbers / finds the bigger of two numbers / gives the maximum of a and b",
        "larger bigger maximum",
        "def NAME(a, b):\n    return a if a > b else b",
        "NAME(2, 9)",
        "9",
    ),
    body_of(
        "returns the smaller of two numbers / finds the minimum of two numbers",
        "smaller minimum",
        "def NAME(a, b):\n    return a if a < b else b",
        "NAME(2, 9)",
        "2",
    ),
    body_of(
        "finds the largest number in a list / returns the maximum of a list / finds the biggest number in a list",
        "largest find_max list_max",
        "def NAME(numbers):\n    best = numbers[0]\n    for number in numbers:\n        if number > best:\n            best = number\n    return best",
        "NAME([3, 8, 5])",
        "8",
    ),
    body_of(
        "finds the smallest number in a list / returns the minimum of a list",
        "smallest find_min list_min",
        "def NAME(numbers):\n    best = numbers[0]\n    for number in numbers:\n        if number < best:\n            best = number\n    return best",
        "NAME([3, 8, 5])",
        "3",
    ),
    body_of(
        "sums a list of numbers / adds up all numbers in a list / returns the sum of a list",
        "total sum_list add_all",
        "def NAME(numbers):\n    total = 0\n    for number in numbers:\n        total += number\n    return total",
        "NAME([1, 2, 3])",
        "6",
    ),
    body_of(
        "computes the average of a list / returns the mean of a list of numbers / calculates the average",
        "average mean",
        "def NAME(numbers):\n    if not numbers:\n        return 0\n    return sum(numbers) / len(numbers)",
        "NAME([2, 4])",
        "3.0",
    ),
    body_of(
        "returns the median of a list / computes the median",
        "median middle",
        "def NAME(numbers):\n    ordered = sorted(numbers)\n    middle = len(ordered) // 2\n    if len(ordered) % 2:\n        return ordered[middle]\n    return (ordered[middle - 1] + ordered[middle]) / 2",
        "NAME([1, 5, 3])",
        "3",
    ),
    body_of(
        "reverses a string / returns a string backwards / turns a text around",
        "reverse reverse_string backwards",
        "def NAME(text):\n    return text[::-1]",
        "NAME('abc')",
        "'cba'",
    ),
    body_of(
        "reverses a list / returns a list in reverse order",
        "reverse_list reversed_copy",
        "def NAME(items):\n    return items[::-1]",
        "NAME([1, 2, 3])",
        "[3, 2, 1]",
    ),
    body_of(
        "checks if a word is a palindrome / tells whether a string is a palindrome / tests for palindromes",
        "is_palindrome palindrome",
        "def NAME(text):\n    text = text.lower()\n    return text == text[::-1]",
        "NAME('Anna')",
        "True",
    ),
]
