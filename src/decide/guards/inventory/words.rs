//! What the words of test libraries mean, in whatever language: names are compared without case, underscores and
//! marks, so `assert_equal`, `assertEqual` and `assertEqual!` are one word.

use crate::decide::guards::listed::listed;

/// How much a check tells of a wrong result. The order is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Strength {
    /// It cannot fail.
    Nothing,
    /// Any value that counts as true.
    Truthy,
    /// The type or the kind of a value.
    Type,
    /// A part, a bound, a nearness.
    Part,
    /// Every element, in whatever order.
    Members,
    Exact,
}

pub(super) fn plain(name: &str) -> String {
    if name.is_ascii() {
        let kept = name.bytes().filter(u8::is_ascii_alphanumeric);
        return kept.map(|b| char::from(b.to_ascii_lowercase())).collect();
    }
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Words after a subject, or whole assertions, that want one value. Sorted.
const EXACT: &str = "\
    equalerror eqerror isequalbycomparingto isequalbycomparingtofield isequaltocomparingfieldbyfield \
    isequaltonormalizingnewlines hastostring comparesequalto areequal aresame areequivalent arealike \
    strictsame propequal propstrictequal assertstrictequals assertcontentequals \
    assertjsonstringequalsjsonstring assertjsonstringequalsjsonfile assertxmlstringequalsxmlstring \
    assertxmlfileequalsxmlfile assertstringequalsfile assertfileequals assertobjectequals assertjsonequals \
    assertexactjson assertstatus assertexitcode assertequalvalues equalvalues equalexportedvalues exactly \
    isexactly yamleq jsoneqf tobecalledwith tobecalledtimes lastcalledwith nthcalledwith toberesolvedto \
    toberejectedwith tomatchfilesnapshot tomatchimagesnapshot assertronsnapshot asserttomlsnapshot \
    assertcsvsnapshot assertcompactjsonsnapshot assertbinarysnapshot assertcmdsnapshot shouldbeequalto \
    shouldbeequal shouldequaljson shouldcontainexactly shouldbetrue \
    shouldbefalse shouldbenull beequalto beexactly assertdocumenttitle assertarraysequal assertallequal \
    assertdatasetequal assertindexequal asserttablerows assertjsonvalidationerrors assertequaldeep cmp \
    cmpdeeply assertqueryresultequals assertquerysetequal assertnumqueries assertjsonequal assertxmlequal \
    asserthtmlequal asserturlequal \
    arrayequal assertarrayequal assertarrayequals assertcalledoncewith assertcalledwith \
    assertdictequal asserteq assertequal assertequals assertframeequal assertidentical assertis assertisfalse \
    assertisnone assertistrue assertiterableequals assertlinesmatch assertlistequal assertmultilineequal \
    assertnil assertnotcalled assertnull assertsame assertsequenceequal assertseriesequal assertsetequal \
    assertsnapshot assertstrictequal asserttupleequal assertdebugsnapshot assertjsonsnapshot assertyamlsnapshot \
    assertinlinesnapshot be befalse benil benull betrue calledoncewith calledwith calledwithexactly \
    containsexactly hasmessage withmessage deepequal deepstrictequal eq eql eqls \
    equal equals equalto erroris expectsnapshot false fileequals havebeencalledwith havecount havetext havevalue is \
    isequalto isfalse isnil isnull issame issameas istrue isnan jsoneq matchsnapshot mustbe mustbenil \
    mustequal nil notcalled null same sameas samedeepordered shouldbe shouldequal \
    assertcalledonce calledonce havebeencalledonce haveattributes snapshot strictequal true tobe tobefalse tobenan tobenull tobetrue tobeundefined toequal \
    tohavebeencalledonce tohavebeencalledexactlyoncewith tohavebeencalledoncewith tohavebeencalledtimes \
    tohavebeencalledwith tohavebeenlastcalledwith tohavebeennthcalledwith tohavecount tohavelastreturnedwith \
    tohavereturnedtimes tohavereturnedwith tohavescreenshot tohavetext tohavetitle tohaveurl tohavevalue \
    tomatchinlinesnapshot tomatchsnapshot tostrictequal tothrowerrormatchinginlinesnapshot \
    tothrowerrormatchingsnapshot undefined xctassertequal xctassertidentical xctassertnil";

/// Words that want every element, in whatever order. Sorted.
const MEMBERS: &str = "\
    containsonly containsonlyelementsof hassameelementsas containsexactlyelementsof \
    assertequalscanonicalizing shouldcontainonly shouldcontainall beequivalentto equivalent assertequivalent \
    isequalorder containsinanyorder arecollectionequivalent assertarraysaresimilar onlycontain consistof \
    all alleq allmatch allsatisfy everyitem assertcountequal assertsameelements assertunorderedequal containexactly containexactlyinanyorder \
    containsexactlyinanyorder elementsmatch equivalentto isequivalentto matcharray matchelements samedeepmembers \
    samemembers shouldcontainexactlyinanyorder toequalcanonicalizing";

/// Words that only want the kind of a value.
const TYPE: &str = "\
    assertis assertisnot beoftype beassignableto shouldbeinstanceof shouldbetypeof throwasync \
    throwexactlyasync throwexactly throwsexception throwsexceptionasync assertinstance instance type \
    isinstanceoftype implements shouldthrowexactly assertthrowsexactly assertthrowsasync havetypeof \
    catcherror \
    a an assertfailswith assertinstanceof assertisinstance assertkindof assertraises assertthrows bea beakindof \
    bean beaninstanceof beinstanceof bekindof dothrow expectexception instanceof isa iserr isinstance \
    isinstanceof iserror iskindof isnone isok issome istype kindof mustbeinstanceof mustbekindof mustraise \
    panics throwsexactly throwsexactlyasync throwsany throwsanyasync raise raiseerror raises raiseexception rejected rejects rejectedwith throw throwerror throws \
    tobeinstanceof tobetypeof tothrow tothrowerror typeof xctassertthrowserror";

/// Words that any value will do for.
const TRUTHY: &str = "\
    notthrow notthrowasync notpanics assertdoesnotthrow assertdoesnotraise shouldnotthrowany notbenullorempty \
    assertnothing asserthasnoerrors isnotnullorempty havehappened \
    any assertcalled assertisnotnone assertnotempty assertnothingraised assertnotnil assertnotnull befalsey \
    befalsy bepresent betruthy called defined didnotraise doesnotthrow exist exists isdefined isfalsy isnotempty \
    isnotnil isnotnull isnotundefined istruthy noerror notempty notnil notnull notok nothrow ok present \
    tobedefined tobefalsy tobetruthy tohavebeencalled tohavereturned xctassertnothrow xctassertnotnil";

/// Words that stand for their argument, which says what is wanted.
const TRUTH: &str = "\
    assert assertfalse assertnot asserttrue check debugassert propassert refute require xctassert xctassertfalse \
    xctasserttrue false isfalse istrue ok true notok testify";

/// Matchers in the place of a value that many values fit.
const LOOSE: &str = "\
    any anything anystring anyint anylong anyboolean anydouble anylist anymap anyvararg anycontext ofany argany arraycontaining arrayincluding closeto hashincluding instanceof kindof \
    objectcontaining stringcontaining stringincluding stringmatching approx anyorder anynumber isa notnull \
    dirtyequals";

/// Of these, the ones that every value fits.
const ANYTHING: &str = "\
    any anything notnull ignore isany anycontext";

pub(super) fn is_truth(word: &str) -> bool {
    listed(TRUTH, word)
}

pub(super) fn is_loose(word: &str) -> bool {
    listed(LOOSE, word)
}

pub(super) fn is_anything(word: &str) -> bool {
    listed(ANYTHING, word)
}

/// What a word that follows a subject wants. An unknown one is taken for a part.
pub(super) fn matcher(word: &str) -> Strength {
    let bare = word.strip_prefix("should").or_else(|| word.strip_prefix("must"));
    let bare = bare.filter(|b| b.len() > 1).unwrap_or(word);
    for word in [word, bare] {
        if listed(EXACT, word) {
            return Strength::Exact;
        }
        if listed(MEMBERS, word) {
            return Strength::Members;
        }
        if listed(TYPE, word) {
            return Strength::Type;
        }
        if listed(TRUTHY, word) {
            return Strength::Truthy;
        }
    }
    Strength::Part
}

/// A word that is a whole assertion with its operands.
pub(super) fn is_assertion(word: &str) -> bool {
    let prefixes = [
        "assert",
        "refute",
        "xctassert",
        "debugassert",
        "propassert",
        "shouldthrow",
        "shouldraise",
    ];
    prefixes.iter().any(|p| word.starts_with(p))
}

/// A method of an assertion library that wants a part, a bound or a nearness.
pub(super) fn is_part_word(word: &str) -> bool {
    let words = [
        "match",
        "regex",
        "contains",
        "includes",
        "include",
        "notequal",
        "notdeepequal",
        "notstrictequal",
        "like",
        "greater",
        "less",
        "greaterorequal",
        "lessorequal",
        "indelta",
        "inepsilon",
        "errorcontains",
        "errorindelta",
        "errorIs",
        "erroris",
        "erroras",
        "subset",
        "len",
        "lengthof",
        "property",
        "approximately",
        "closeto",
        "isabove",
        "isbelow",
        "throws",
        "throwsasync",
        "not",
        "zero",
        "positive",
        "negative",
        "empty",
        "hasproperty",
        "eqerror",
        "equalerror",
        "doesnotmatch",
        "partialdeepstrictequal",
        "within",
        "fileexists",
        "startswith",
        "endswith",
        "inrange",
        "notinrange",
        "single",
        "collection",
        "matches",
        "doesnotcontain",
        "doesnotmatch",
        "greaterthan",
        "lessthan",
        "greaterthanorequalto",
        "lessthanorequalto",
        "isempty",
        "arenotequal",
        "arenotsame",
        "condition",
        "regexp",
        "notcontains",
        "notregexp",
        "withinduration",
        "panicswithvalue",
        "panicswitherror",
        "notpanics",
        "eventually",
        "never",
        "httpstatuscode",
        "httpbodycontains",
        "indeltaslice",
        "objectmatch",
        "step",
        "verifysteps",
        "oneof",
        "include",
        "deepinclude",
        "nestedproperty",
        "sizeof",
        "haskey",
        "haskeys",
        "includemembers",
        "includedeepmembers",
        "includeorderedmembers",
        "hasallkeys",
        "hasanykeys",
        "containsallkeys",
        "notinclude",
        "isatleast",
        "isatmost",
        "operator",
        "changes",
        "calledwith",
    ];
    words.contains(&word)
}

/// Methods of a suite in Go that assert.
pub(super) fn is_go_assertion(word: &str) -> bool {
    let words = "\
        equal equalvalues notequal error errorf erroris erroras errorcontains noerror nil notnil true false empty \
        notempty len contains notcontains elementsmatch same greater less greaterorequal lessorequal indelta panics \
        zero regexp jsoneq subset exactly equalerror withinduration";
    listed(words, word)
}

/// Wants a value that is not none.
pub(super) fn is_there(word: &str) -> bool {
    let words = "\
        isnotnull notnull assertnotnull isnotnil notnil assertnotnil isnotnone assertisnotnone notbenull \
        shouldnotbenull xctassertnotnil assertisnotnull";
    listed(words, word)
}

/// Wants that there is no error, in the words of Go's libraries.
pub(super) fn is_no_error(word: &str) -> bool {
    listed("noerror noerrorf noerr nilerror nilerr cmpnoerror", word)
}

/// Holds other assertions and is none itself.
pub(super) fn groups(word: &str) -> bool {
    listed(
        "assertall assertmultiple assertsoftly asserttimeout asserttimeoutpreemptively softly multiple",
        word,
    )
}

/// Objects whose methods are assertions.
pub(super) fn is_assertion_library(word: &str) -> bool {
    let words = "\
        assert require chai assertions check t tap should collectionassert stringassert classicassert fileassert \
        directoryassert softassert is qt td must verify";
    listed(words, word)
}

/// What makes a test fail wherever it stands.
pub(super) fn fails(word: &str) -> bool {
    let words = "\
        fail failed failnow fatal fatalf error errorf panic unreachable flunk xctfail assertfail \
        assertunreachable";
    listed(words, word)
}

/// A call that begins a sentence about its argument.
pub(super) fn opens_subject(word: &str) -> bool {
    let words = "\
        expect assertthat expectthat should expectcall expecttypeof must that wrap assertthatthrownby \
        assertthatexceptionoftype assertthatcode assertthatexception thenthrownby then";
    listed(words, word)
}

/// A call after which nothing of the test runs.
pub(super) fn skips(word: &str) -> bool {
    let words = "\
        skip skipf skipnow skiptest pending todo fixme marktestskipped marktestincomplete importorskip xctskip \
        ignore inconclusive xfail omit";
    listed(words, word)
}

/// A call after which nothing of the test runs unless a condition holds.
pub(super) fn assumes(word: &str) -> bool {
    let words =
        "propassume assumetrue assumefalse assumethat assume skipif skipunless xctskipif xctskipunless assumingthat";
    listed(words, word)
}

/// A call that ends the process.
pub(super) fn exits(path: &str) -> bool {
    let words = "\
        process.exit os.Exit os._exit sys.exit exit quit System.exit std.process.exit process.abort \
        std.process.abort abort Kernel.exit exit! Process.exit";
    listed(words, path)
}

/// Writes for people only.
pub(super) fn logs(path: &str) -> bool {
    let mut parts = path.rsplit('.');
    let last = plain(parts.next().unwrap_or_default());
    let root = plain(path.split('.').next().unwrap_or_default());
    let words = "log logf print println printf debug info warn helper parallel puts p eprintln dbg trace describe";
    listed(words, &last) || matches!(root.as_str(), "console" | "logger" | "logging" | "log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_strength() {
        for (word, want) in [
            ("toBe", Strength::Exact),
            ("assert_eq!", Strength::Exact),
            ("assertEquals", Strength::Exact),
            ("must_equal", Strength::Exact),
            ("toContain", Strength::Part),
            ("assertIn", Strength::Part),
            ("must_include", Strength::Part),
            ("toBeInstanceOf", Strength::Type),
            ("raise_error", Strength::Type),
            ("toBeTruthy", Strength::Truthy),
            ("assertNotNull", Strength::Truthy),
            ("somethingOfOurOwn", Strength::Part),
        ] {
            assert_eq!(matcher(&plain(word)), want, "{word}");
        }
    }
}
