//! Which node of which grammar is what. Names that the grammars share stand once; what one of them means differently
//! stands in its own list.

use std::{collections::HashMap, sync::OnceLock};

use foldhash::fast::RandomState;

use super::{Grammar, Kind};
use crate::decide::guards::listed::words;

/// How a node of a grammar becomes one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Is(Kind),
    /// Only its content counts.
    Through,
    /// A function, method or constructor by its fields.
    Function,
    Class,
    Call,
    Member,
    If,
    /// The condition is turned round.
    Unless,
    Loop,
    Switch,
    Arm,
    Try,
    /// Statements with handlers behind them.
    Rescued,
    Catch,
    Lambda,
    With,
    Pair,
    Assign,
    /// `value as name`
    Alias,
    Binary,
    Comparison,
    Unary,
    Text,
    /// A value, or a name and a value.
    Argument,
    /// A method that stands between its operands.
    Infix,
    /// Marks that stand before what they mark.
    Marked,
}

type List = &'static [(Shape, &'static str)];

const SHARED: List = &[
    (
        Shape::Is(Kind::Name),
        "identifier property_identifier field_identifier type_identifier package_identifier private_property_identifier \
         shorthand_property_identifier shorthand_property_identifier_pattern statement_identifier instance_variable \
         class_variable global_variable hash_key_symbol this self super crate metavariable dotted_name",
    ),
    (
        Shape::Is(Kind::Number),
        "number integer float integer_literal float_literal int_literal imaginary_literal rational \
         decimal_integer_literal hex_integer_literal octal_integer_literal binary_integer_literal \
         decimal_floating_point_literal hex_floating_point_literal",
    ),
    (
        Shape::Is(Kind::Constant),
        "true false none null nil undefined null_literal boolean_literal iota unit_expression",
    ),
    (
        Shape::Text,
        "string template_string string_literal raw_string_literal interpreted_string_literal char_literal \
         character_literal rune_literal character simple_symbol delimited_symbol bare_string bare_symbol heredoc_body \
         regex chained_string concatenated_string",
    ),
    (Shape::Is(Kind::Comment), "comment line_comment block_comment"),
    (Shape::Is(Kind::Error), "ERROR"),
    (
        Shape::Is(Kind::Type),
        "type_annotation type_arguments type_parameters predefined_type generic_type type_identifier_list",
    ),
    (
        Shape::Call,
        "call_expression new_expression call method_invocation object_creation_expression \
         explicit_constructor_invocation",
    ),
    (
        Shape::Member,
        "member_expression attribute field_expression selector_expression field_access scoped_identifier \
         scope_resolution method_reference scoped_type_identifier qualified_type nested_type_identifier",
    ),
    (
        Shape::Is(Kind::Index),
        "subscript_expression subscript index_expression slice_expression array_access element_reference",
    ),
    (
        Shape::Pair,
        "pair keyword_argument keyed_element field_initializer element_value_pair",
    ),
    (
        Shape::Is(Kind::Spread),
        "spread_element list_splat dictionary_splat splat_argument hash_splat_argument base_field_initializer",
    ),
    (
        Shape::Is(Kind::List),
        "array list tuple set array_expression tuple_expression array_initializer element_value_array_initializer \
         literal_value string_array symbol_array field_initializer_list",
    ),
    (Shape::Is(Kind::Map), "object dictionary hash"),
    (
        Shape::Lambda,
        "arrow_function function_expression func_literal lambda_expression closure_expression lambda",
    ),
    (
        Shape::Assign,
        "assignment_expression assignment augmented_assignment augmented_assignment_expression \
         compound_assignment_expr operator_assignment assignment_statement short_var_declaration variable_declarator \
         var_spec const_spec let_declaration const_item static_item public_field_definition named_expression \
         let_condition update_expression inc_statement dec_statement",
    ),
    (
        Shape::Binary,
        "binary_expression boolean_operator binary_operator binary instanceof_expression",
    ),
    (Shape::Alias, "as_pattern"),
    (Shape::Comparison, "comparison_operator"),
    (Shape::Unary, "not_operator unary_expression unary_operator unary"),
    (
        Shape::If,
        "ternary_expression conditional_expression if_statement if_expression elif_clause",
    ),
    (
        Shape::Switch,
        "match_expression switch_expression switch_statement expression_switch_statement type_switch_statement \
         select_statement match_statement",
    ),
    (Shape::Is(Kind::Await), "await_expression await"),
    (
        Shape::Through,
        "parenthesized_expression expression_statement statement_list expression_list literal_element \
         reference_expression as_expression satisfies_expression non_null_expression generic_function \
         type_cast_expression cast_expression try_expression parenthesized_statements as_pattern_target class_literal \
         catch_type superclass class_heritage extends_clause template_substitution interpolation with_clause with_item \
         pattern match_pattern case_pattern range_clause exceptions expression switch_label lexical_declaration \
         variable_declaration local_variable_declaration field_declaration var_declaration const_declaration \
         type_declaration",
    ),
    (
        Shape::Is(Kind::Block),
        "program source_file statement_block block class_body declaration_list constructor_body interface_body \
         enum_body switch_body switch_block match_block",
    ),
    (
        Shape::Function,
        "function_declaration function_definition function_item method_definition method_declaration \
         generator_function_declaration generator_function constructor_declaration function_signature_item",
    ),
    (
        Shape::Class,
        "class_declaration class_definition abstract_class_declaration class mod_item impl_item trait_item struct_item \
         enum_item interface_declaration enum_declaration record_declaration type_spec",
    ),
    (
        Shape::Is(Kind::Params),
        "formal_parameters parameters parameter_list lambda_parameters closure_parameters method_parameters \
         block_parameters",
    ),
    (
        Shape::Is(Kind::Bind),
        "required_parameter optional_parameter parameter typed_parameter default_parameter typed_default_parameter \
         parameter_declaration variadic_parameter_declaration formal_parameter spread_parameter keyword_parameter \
         splat_parameter rest_pattern list_splat_pattern dictionary_splat_pattern destructured_parameter \
         object_pattern array_pattern tuple_pattern pattern_list tuple_struct_pattern left_assignment_list \
         exception_variable",
    ),
    (Shape::Is(Kind::Else), "else_clause"),
    (
        Shape::Loop,
        "for_statement for_in_statement while_statement do_statement enhanced_for_statement for_expression \
         while_expression loop_expression for_in_clause",
    ),
    (
        Shape::Arm,
        "switch_case switch_default expression_case default_case type_case communication_case case_clause match_arm \
         switch_block_statement_group switch_rule",
    ),
    (Shape::Try, "try_statement try_with_resources_statement"),
    (Shape::Catch, "catch_clause except_clause except_group_clause"),
    (Shape::Is(Kind::Finally), "finally_clause"),
    (Shape::With, "with_statement"),
    (Shape::Is(Kind::Return), "return_statement return_expression"),
    (Shape::Is(Kind::Throw), "throw_statement raise_statement"),
    (
        Shape::Is(Kind::Jump),
        "break_statement continue_statement break_expression continue_expression yield_statement",
    ),
    (Shape::Is(Kind::Assert), "assert_statement"),
    (
        Shape::Is(Kind::Import),
        "import_statement import_from_statement import_declaration use_declaration future_import_statement",
    ),
    (
        Shape::Is(Kind::Mark),
        "decorator annotation marker_annotation attribute_item inner_attribute_item",
    ),
    (Shape::Marked, "decorated_definition export_statement"),
];

const PYTHON: List = &[(Shape::Is(Kind::Block), "module"), (Shape::Is(Kind::Type), "type")];

const RUST: List = &[(Shape::Through, "attribute unsafe_block async_block const_block")];

const RUBY: List = &[
    (Shape::Lambda, "block do_block"),
    (Shape::Rescued, "body_statement block_body begin"),
    (Shape::If, "if if_modifier conditional elsif"),
    (Shape::Unless, "unless unless_modifier"),
    (Shape::Loop, "while until for while_modifier until_modifier"),
    (Shape::Switch, "case case_match"),
    (Shape::Arm, "when in_clause"),
    (Shape::Catch, "rescue"),
    (Shape::Try, "rescue_modifier"),
    (Shape::Is(Kind::Finally), "ensure"),
    (Shape::Is(Kind::Else), "else"),
    (Shape::Function, "method singleton_method"),
    (Shape::Class, "class module singleton_class"),
    (Shape::Is(Kind::Name), "constant super"),
    (Shape::Is(Kind::Return), "return"),
    (Shape::Is(Kind::Jump), "break next redo retry"),
    (Shape::Is(Kind::Block), "then do"),
];

/// C#, PHP and Kotlin.
const OTHERS: List = &[
    (Shape::Is(Kind::Mark), "attribute"),
    (
        Shape::Through,
        "attribute_list attribute_group arrow_expression_clause namespace_declaration file_scoped_namespace_declaration \
         local_declaration_statement user_type function_body named_type type_list constant_pattern type_pattern \
         annotated_lambda when_subject catch_declaration delegation_specifier match_condition_list \
         parenthesized_pattern error_suppression_expression declaration_expression checked_expression nullable_type \
         implicit_array_creation_expression",
    ),
    (
        Shape::Argument,
        "argument attribute_argument array_element_initializer value_argument",
    ),
    (
        Shape::Call,
        "invocation_expression member_call_expression nullsafe_member_call_expression scoped_call_expression \
         function_call_expression constructor_invocation",
    ),
    (
        Shape::Member,
        "member_access_expression conditional_access_expression navigation_expression qualified_name \
         nullsafe_member_access_expression scoped_property_access_expression class_constant_access_expression \
         qualified_identifier namespace_name",
    ),
    (Shape::Is(Kind::Index), "element_access_expression"),
    (Shape::Is(Kind::Name), "name variable_name generic_name relative_scope"),
    (Shape::Is(Kind::Constant), "boolean discard"),
    (Shape::Is(Kind::Number), "number_literal real_literal"),
    (
        Shape::Text,
        "encapsed_string interpolated_string_expression verbatim_string_literal multiline_string_literal heredoc nowdoc",
    ),
    (
        Shape::Is(Kind::List),
        "initializer_expression collection_expression array_creation_expression list_literal collection_literal",
    ),
    (Shape::Binary, "is_pattern_expression is_expression check_expression"),
    (Shape::Infix, "infix_expression"),
    (Shape::Unary, "prefix_unary_expression unary_op_expression"),
    (
        Shape::Assign,
        "postfix_unary_expression property_declaration const_element property_element",
    ),
    (
        Shape::Lambda,
        "anonymous_function anonymous_function_creation_expression lambda_literal anonymous_method_expression",
    ),
    (Shape::Function, "local_function_statement secondary_constructor"),
    (
        Shape::Class,
        "object_declaration companion_object struct_declaration trait_declaration",
    ),
    (Shape::Is(Kind::Params), "function_value_parameters class_parameters"),
    (
        Shape::Is(Kind::Bind),
        "simple_parameter variadic_parameter class_parameter multi_variable_declaration",
    ),
    (
        Shape::Is(Kind::Block),
        "compilation_unit compound_statement colon_block statements enum_class_body",
    ),
    (Shape::If, "else_if_clause"),
    (Shape::Loop, "foreach_statement do_while_statement"),
    (Shape::Switch, "when_expression"),
    (
        Shape::Arm,
        "switch_section switch_expression_arm case_statement default_statement match_conditional_expression \
         match_default_expression when_entry",
    ),
    (Shape::Try, "try_expression"),
    (Shape::Catch, "catch_block"),
    (Shape::Is(Kind::Finally), "finally_block"),
    (Shape::With, "using_statement"),
    (Shape::Is(Kind::Throw), "throw_expression"),
    (
        Shape::Is(Kind::Import),
        "using_directive namespace_use_declaration import require_expression require_once_expression \
         include_expression include_once_expression",
    ),
];

const KOTLIN: List = &[(Shape::Is(Kind::Bind), "variable_declaration")];

type Table = HashMap<&'static str, Shape, RandomState>;

/// Later lists stand for what earlier ones say.
fn table(lists: &[List]) -> Table {
    let entries = lists.iter().flat_map(|list| list.iter());
    entries
        .flat_map(|(shape, names)| words(names).map(|name| (name, *shape)))
        .collect()
}

/// By the name of a node. Only the tables that a diff needs are made.
pub(super) fn shape(grammar: Grammar, name: &str) -> Shape {
    static TABLES: [OnceLock<Table>; 6] = [const { OnceLock::new() }; 6];
    let (at, lists): (_, &[List]) = match grammar {
        Grammar::Script | Grammar::Tsx | Grammar::Go | Grammar::Java => (0, &[SHARED]),
        Grammar::Python => (1, &[SHARED, PYTHON]),
        Grammar::Rust => (2, &[SHARED, RUST]),
        Grammar::Ruby => (3, &[SHARED, RUBY]),
        Grammar::CSharp | Grammar::Php => (4, &[SHARED, OTHERS]),
        Grammar::Kotlin => (5, &[SHARED, OTHERS, KOTLIN]),
    };
    let found = TABLES[at].get_or_init(|| table(lists)).get(name).copied();
    found.unwrap_or(Shape::Is(Kind::Other))
}
