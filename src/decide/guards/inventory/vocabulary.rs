//! Names that say how something is checked, and not what.

use super::words;
use crate::decide::guards::listed::listed;

/// Words that make a double and say what it answers; which library does it is no matter.
const DOUBLES: &str = "\
    fn mockresolvedvalue mockresolvedvalueonce mockrejectedvalue mockrejectedvalueonce mockreturnvalue mockreturnvalueonce \
    mockimplementation mockimplementationonce sinon stub stubs fake spy callsfake returns returnsasync resolves rejects \
    createstubinstance createspyobj magicmock asyncmock mocker monkeypatch returnvalue sideeffect instancedouble classdouble \
    double andreturn receive when thenreturn thenthrow thenanswer doreturn dothrow willreturn willthrow mockk every coevery \
    answers substitute for setup setupget setupasync throws throwsasync createmock createstub method willreturnmap \
    willthrowexception mockery shouldreceive andthrow slices maps bytes notifier mocked done";

/// Words of test libraries and languages, which say how something is checked and not what.
pub(super) fn is_vocabulary(name: &str) -> bool {
    let word = words::plain(name);
    let known = "\
        tovec tolist toarray cloned copied asslice asbytes asderef intoiter u8 u16 u32 u64 i32 i64 usize bool str \
        self this super crate cls expect assert require chai vi jest sinon t tb b not to tonot notto resolves \
        rejects be been have has does with and pytest unittest mock ok err some none unwrap unwraperr expecterr \
        tostring string iter len length size clone asref asstr collect is deep soft should must each foreach map \
        zip enumerate range of listof arrays aslist assertions matcher matchers describe it test fail error \
        errorf fatal fatalf helper reflect cmp errors promise all assertthat verify times that withmessage \
        getmessage message str repr dict list tuple set sorted array object json stringify from vec into toowned \
        new f64 await arguments _ mutablelistof param isexpected aggregatefailures endswith startswith valueof hasprefix hassuffix matches if";
    word.is_empty()
        || listed(DOUBLES, &word)
        || listed(known, &word)
        || is_primitive(name)
        || words::is_assertion(&word)
        || words::is_loose(&word)
        || words::matcher(&word) != words::Strength::Part
}

/// A type of the language itself.
pub(in crate::decide::guards) fn is_primitive(name: &str) -> bool {
    listed(
        "int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float float32 float64 string byte rune bool \
        boolean double long short char decimal isize usize i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 str any",
        name,
    )
}

/// A named argument that says how often or in which words.
pub(super) fn is_manner(key: &str) -> bool {
    listed("msg message reason match id ids", &words::plain(key))
}

/// A named argument that says how far off a value may be.
pub(super) fn is_nearness(key: &str) -> bool {
    let words = "abs rel delta places rtol atol epsilon tolerance absolutetolerance";
    listed(words, &words::plain(key))
}

/// Makes something that stands in for another: what it is made from is no part of what is checked.
pub(super) fn makes_double(word: &str) -> bool {
    let words = "\
        mock mockk createmock createstub createconfiguredmock getmockforabstractclass instancedouble classdouble \
        magicmock asyncmock createautospec prophesize mockof";
    listed(words, word)
}
