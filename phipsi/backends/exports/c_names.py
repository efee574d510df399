"""What things are called in C, and in formulas; names of files are any text.

No name of a file gets into code as it is: not as a name, and not in a comment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from phipsi.errors import InputError
from phipsi.whole_file import checked_path

LONGEST = 63  # characters by which C99 promises to tell names apart

# Of C and C++, and what compilers define beside.
_LANGUAGE = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for fortran friend goto if inline int long main mutable namespace new noexcept not
not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast std struct switch template this
thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
virtual void volatile wchar_t while xor xor_eq i386 linux unix
"""
# Of <math.h>, <complex.h> and <tgmath.h>, of which there is one for every kind of number.
_OF_NUMBERS = """
acos acosh asin asinh atan atan2 atanh canonicalize cbrt ceil copysign cos cosh drem erf erfc exp
exp10 exp2 expm1 fabs fdim finite floor fma fmax fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num
fmaxmag fmin fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag fmod fpclassify frexp
fromfp fromfpx gamma getpayload hypot ilogb iscanonical iseqsig isfinite isgreater isgreaterequal
isinf isless islessequal islessgreater isnan isnormal issignaling issubnormal isunordered iszero j0
j1 jn ldexp lgamma llogb llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
nextafter nextdown nexttoward nextup pow pow10 remainder remquo rint round roundeven rsqrt scalb
scalbln scalbn setpayload setpayloadsig signbit significand sin sincos sinh sqrt strfrom strto tan
tanh tgamma totalorder totalordermag trunc ufromfp ufromfpx y0 y1 yn cabs cacos cacosh carg casin
casinh catan catanh ccos ccosh cexp cimag clog clog10 conj cpow cproj creal csin csinh csqrt ctan
ctanh
"""
# Of the other headers of C, and of those of POSIX and GNU that come with them.
_LIBRARY = """
math_errhandling signgam complex imaginary assert errno setjmp longjmp sigsetjmp jmp_buf signal
raise noreturn kill_dependency memory_order va_arg va_copy va_end va_list va_start offsetof div_t
double_t float_t fenv_t fexcept_t femode_t fpos_t fpos64_t imaxdiv_t ldiv_t lldiv_t max_align_t
mbstate_t nullptr_t off_t off64_t ptrdiff_t sig_atomic_t size_t ssize_t rsize_t errno_t time_t
wctrans_t wctype_t wint_t feclearexcept fegetenv fegetexceptflag fegetmode fegetround feholdexcept
feraiseexcept fesetenv fesetexcept fesetexceptflag fesetmode fesetround fetestexcept
fetestexceptflag feupdateenv imaxabs imaxdiv strtoimax strtoumax wcstoimax wcstoumax localeconv
setlocale asprintf clearerr cookie_io_functions_t cookie_close_function_t cookie_read_function_t
cookie_seek_function_t cookie_write_function_t ctermid cuserid dprintf fclose fcloseall fdopen feof
ferror fflush fgetc fgetpos fgets fileno flockfile fmemopen fopen fopencookie fprintf fputc fputs
fread freopen fscanf fseek fseeko fsetpos ftell ftello ftrylockfile funlockfile fwrite getc getchar
getdelim getline gets getw obstack_printf obstack_vprintf open_memstream pclose perror popen printf
putc putchar puts putw remove rename renameat renameat2 rewind scanf setbuf setbuffer setlinebuf
setvbuf snprintf sprintf sscanf stderr stdin stdout tempnam tmpfile tmpnam tmpnam_r ungetc vasprintf
vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf a64l abort abs aligned_alloc
alloca arc4random arc4random_buf arc4random_uniform at_quick_exit atexit atof atoi atol atoll
bsearch calloc call_once canonicalize_file_name clearenv comparison_fn_t div drand48 ecvt erand48
exit fcvt free free_aligned_sized free_sized gcvt getenv getloadavg getpt getsubopt grantpt
initstate jrand48 l64a labs lcong48 ldiv llabs lldiv locale_t lrand48 malloc mblen mbstowcs mbtowc
memalignment mkdtemp mkostemp mkostemps mkstemp mkstemps mktemp mrand48 nrand48 on_exit
posix_memalign posix_openpt ptsname putenv qecvt qfcvt qgcvt qsort quick_exit rand random realloc
reallocarray realpath rpmatch secure_getenv seed48 setenv setstate srand srand48 srandom strtol
strtoll strtoq strtoul strtoull strtouq system unlockpt unsetenv valloc wcstombs wctomb bcmp bcopy
bzero dcgettext dgettext explicit_bzero ffs ffsimax ffsl ffsll gettext index memccpy memchr memcmp
memcpy memmem memmove mempcpy memrchr memset memset_explicit rindex stpcpy stpncpy strcasecmp
strcasestr strcat strchr strcmp strcoll strcpy strcspn strdup strerror strlcat strlcpy strlen
strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr
strtok strtok_r strxfrm call_once once_flag asctime clock ctime difftime gmtime localtime mktime
strfmon strftime strptime time timegm timespec_get timespec_getres c16rtomb c32rtomb c8rtomb
mbrtoc16 mbrtoc32 mbrtoc8 btowc fgetwc fgetws fputwc fputws fwide fwprintf fwscanf getwc getwchar
mbrlen mbrtowc mbsinit mbsrtowcs putwc putwchar swprintf swscanf ungetwc vfwprintf vfwscanf
vswprintf vswscanf vwprintf vwscanf wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime
wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstok wcstol
wcstold wcstoll wcstoul wcstoull wcsxfrm wctob wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf
wscanf isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace
isupper isxdigit iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint
iswpunct iswspace iswupper iswxdigit toascii tolower toupper towctrans towlower towupper wctrans
wctype accept access alarm bind chdir close connect creat dup environ execl execle execlp execv
execve execvp fork htobe16 htobe32 htobe64 htole16 htole32 htole64 be16toh be32toh be64toh le16toh
le32toh le64toh bswap_16 bswap_32 bswap_64 kill link listen lseek mkdir nice open pause pipe pselect
read recv rmdir select send shutdown sleep socket stat unlink usleep vfork wait write u_char u_int
u_long u_short uint ulong ushort blkcnt_t blkcnt64_t blksize_t caddr_t clock_t clockid_t daddr_t
dev_t fd_mask fd_set fsblkcnt_t fsblkcnt64_t fsfilcnt_t fsfilcnt64_t fsid_t gid_t id_t ino_t ino64_t
key_t loff_t mode_t nlink_t pid_t quad_t u_quad_t register_t sigset_t suseconds_t timer_t uid_t
useconds_t uint16_identity uint32_identity uint64_identity
"""
# Of the code itself.
_OURS = "bad count error failed first i l many n room rows s squares work"
WORDS = frozenset((_LANGUAGE + _OF_NUMBERS + _LIBRARY + _OURS).split())
# Names that come in families, and those that a compiler or its headers define in capitals.
THEIRS = re.compile(
    rf"({'|'.join(_OF_NUMBERS.split())})(f|l|d|f\d+x?|d\d+)?(_[rl])?"
    r"|[df](add|div|fma|mul|sqrt|sub)l?|f\d+x?(add|div|fma|mul|sqrt|sub)f\d+x?"
    r"|\w+_unlocked|(f?(get|set)pos|f(open|reopen|seeko|tello)|tmpfile|mko?stemps?)64"
    r"|([dejlmn]rand48|lcong48|seed48|srand48|random|initstate|setstate|rand|qsort|q?[ef]cvt"
    r"|ptsname|srandom)_r|strto[dfl]\w*"
    r"|(atomic|cnd|mtx|thrd|tss|pthread|stdc)_\w+|u?_?int\w*_t"
    r"|I|NAN|NULL|EOF|WEOF|FILE|BUFSIZ|INFINITY|NDEBUG|MAXFLOAT|(HUGE|SNAN|CMPLX|SIG)\w*"
    r"|E[0-9A-Z]{2,}|(PRI|SCN)[a-zX]\w*|U?INT(\d+|MAX|PTR)_\w*|(BIG|BYTE|LITTLE|PDP)_(ENDIAN|ORDER)"
    r"|(DBL|FLT|LDBL|DEC\d+|DECIMAL|FP|M|MATH|U?INT|SIZE|PTRDIFF|WCHAR|WINT|S?U?CHAR|U?SHRT|U?L?LONG"
    r"|BOOL|MB|LC|FE|ATOMIC|SEEK|EXIT|TMP|FOPEN|FILENAME|RAND|CLOCKS|TIME|TSS|ONCE|RENAME|FD"
    r"|BITINT)_\w*|NFDBITS|L_[ct]\w*|P_tmpdir|W(CONTINUED|EXIT\w+|IF\w+|NOHANG|NOWAIT|STOP\w+|TERMSIG|UNTRACED)",
    re.ASCII,
)
# Names that exported code uses itself; sizes are macros in capitals, so that case does not count.
RESULTS = re.compile(r"(in|out)\d*", re.ASCII | re.IGNORECASE)
TILES = re.compile(r"(tile|wanted|allowed)_.*", re.ASCII)
NUMBERS = re.compile(r"x\d*|.*_SIZE_.*", re.ASCII)
# What C reads in a comment: its ends, ?? for letters that keyboards lack, \ that joins lines.
_READ_BY_C = re.compile(r"(?<=\*)/|(?<=/)\*|(?<=\?)\?|[^ -\[\]-~]")


def checked_name(name: str) -> str:
    """The name of a C function, or InputError.

    >>> checked_name("ur5")
    'ur5'
    >>> checked_name("5 axes")
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: name is '5 axes'; expected the name of a C function: letters, ...
    """
    if not isinstance(name, str) or not _names_function(name):
        raise InputError(f"name is {name!r:.80}; expected the name of a C function: {_RULE}")
    return name


def name_of_file(path: str | os.PathLike[str]) -> str:
    """The name of the function that a header stands for: that of the file without its suffix.

    >>> name_of_file("build/ur5.h")
    'ur5'
    """
    stem = checked_path(path).stem
    if not _names_function(stem):
        raise InputError(
            f"{path}: no C function can be called {stem!r:.80}; give it a name, as name='arm': "
            f"{_RULE}"
        )
    return stem


def argument_names(names: Iterable[str], function: str = "") -> dict[str, str]:
    """What arguments are called in C: as here, as far as C allows it.

    No two differ by case alone, since macros are named after them, and none is called as
    the function is, or as what is named after it.

    >>> argument_names(["q", "work", "link2.mass"])
    {'q': 'q', 'work': 'in1', 'link2.mass': 'link2_mass'}
    """
    found: dict[str, str] = {}
    for i, name in enumerate(names):
        near = re.sub(r"\W", "_", name, flags=re.ASCII)
        taken = {x.upper() for x in found.values()}
        is_ours = near == function or near.upper().startswith(f"{function}_".upper())
        is_taken = is_ours or NUMBERS.fullmatch(near) or near.upper() in taken
        is_free = _names_function(near) and not is_taken
        found[name] = near if is_free else f"in{i}"
    return found


def symbol_names(names: Iterable[str]) -> dict[str, str]:
    """What arguments are called in formulas, whose packages print names as they are, also as code.

    >>> symbol_names(["q", "link 2.mass", "link2.mass"])
    {'q': 'q', 'link 2.mass': 'link_2.mass', 'link2.mass': 'link2.mass'}
    """
    found: dict[str, str] = {}
    for i, name in enumerate(names):
        near = re.sub(r"[^\w.]", "_", name)
        found[name] = f"in{i}" if near in found.values() else near
    return found


def result_names(count: int) -> list[str]:
    """What results are called in C.

    >>> result_names(1), result_names(2)
    (['out'], ['out0', 'out1'])
    """
    return ["out"] if count == 1 else [f"out{i}" for i in range(count)]


def in_comment(line: str) -> str:
    """A line as it may stand in a comment of C, whatever it is made of: names of files are any.

    What C would read, and what is no letter of ASCII, is written by its number.

    >>> print(in_comment("Mass of left*/right\\\\"))
    Mass of left*\\x2fright\\x5c
    """
    return _READ_BY_C.sub(_by_number, line)


def _by_number(letter: re.Match[str]) -> str:
    number = ord(letter[0])
    if number < 1 << 8:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


_RULE = (
    f"letters, digits and _, the first a letter, {LONGEST} at most, and no name that C, C++, their "
    "libraries or exported code itself has"
)


def _names_function(name: str) -> bool:
    """Whether a function of C may be called so."""
    is_word = re.fullmatch(rf"[A-Za-z][A-Za-z0-9_]{{0,{LONGEST - 1}}}", name, re.ASCII)
    is_taken = name in WORDS or any(x.fullmatch(name) for x in (THEIRS, RESULTS, TILES))
    return bool(is_word) and not is_taken
