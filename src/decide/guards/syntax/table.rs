//! Which node of which grammar is what. Names that the grammars share stand once.

use super::{Grammar, Kind};

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
    /// Marks that stand before what they mark.
    Marked,
}

pub(super) fn shape(grammar: Grammar, name: &str) -> Shape {
    own(grammar, name).unwrap_or_else(|| shared(name))
}

/// What a grammar means differently than the others.
fn own(grammar: Grammar, name: &str) -> Option<Shape> {
    use Shape::{If, Is, Lambda, Rescued, Switch, Through, Unless};
    Some(match (grammar, name) {
        (Grammar::Ruby, "block" | "do_block") => Lambda,
        (Grammar::Ruby, "body_statement" | "block_body" | "begin") => Rescued,
        (Grammar::Ruby, "if" | "if_modifier" | "conditional" | "elsif") => If,
        (Grammar::Ruby, "unless" | "unless_modifier") => Unless,
        (Grammar::Ruby, "while" | "until" | "for" | "while_modifier" | "until_modifier") => Shape::Loop,
        (Grammar::Ruby, "case" | "case_match") => Switch,
        (Grammar::Ruby, "when" | "in_clause") => Shape::Arm,
        (Grammar::Ruby, "rescue") => Shape::Catch,
        (Grammar::Ruby, "rescue_modifier") => Shape::Try,
        (Grammar::Ruby, "ensure") => Is(Kind::Finally),
        (Grammar::Ruby, "else") => Is(Kind::Else),
        (Grammar::Ruby, "method" | "singleton_method") => Shape::Function,
        (Grammar::Ruby, "class" | "module" | "singleton_class") => Shape::Class,
        (Grammar::Ruby, "constant" | "super") => Is(Kind::Name),
        (Grammar::Ruby, "return") => Is(Kind::Return),
        (Grammar::Ruby, "break" | "next" | "redo" | "retry") => Is(Kind::Jump),
        (Grammar::Ruby, "then" | "do") => Is(Kind::Block),
        (Grammar::Python, "block" | "module") => Is(Kind::Block),
        (Grammar::Python, "lambda") => Lambda,
        (Grammar::Python, "type") => Is(Kind::Type),
        (Grammar::Rust, "attribute") => Through,
        (Grammar::Rust, "unsafe_block" | "async_block" | "const_block") => Through,
        _ => return None,
    })
}

fn shared(name: &str) -> Shape {
    use Shape::Is;
    match name {
        "comment" | "line_comment" | "block_comment" => Is(Kind::Comment),
        "ERROR" => Is(Kind::Error),
        "type_annotation" | "type_arguments" | "type_parameters" | "predefined_type" | "generic_type" => Is(Kind::Type),
        _ => leaf(name)
            .or_else(|| expression(name))
            .or_else(|| statement(name))
            .unwrap_or(Is(Kind::Other)),
    }
}

fn leaf(name: &str) -> Option<Shape> {
    use Shape::{Is, Text};
    Some(match name {
        "identifier"
        | "property_identifier"
        | "field_identifier"
        | "type_identifier"
        | "package_identifier"
        | "private_property_identifier"
        | "shorthand_property_identifier"
        | "shorthand_property_identifier_pattern"
        | "statement_identifier"
        | "instance_variable"
        | "class_variable"
        | "global_variable"
        | "hash_key_symbol"
        | "this"
        | "self"
        | "super"
        | "crate"
        | "metavariable"
        | "dotted_name" => Is(Kind::Name),
        "number"
        | "integer"
        | "float"
        | "integer_literal"
        | "float_literal"
        | "int_literal"
        | "imaginary_literal"
        | "rational"
        | "decimal_integer_literal"
        | "hex_integer_literal"
        | "octal_integer_literal"
        | "binary_integer_literal"
        | "decimal_floating_point_literal"
        | "hex_floating_point_literal" => Is(Kind::Number),
        "true" | "false" | "none" | "null" | "nil" | "undefined" | "null_literal" | "boolean_literal" | "iota"
        | "unit_expression" => Is(Kind::Constant),
        "string"
        | "template_string"
        | "string_literal"
        | "raw_string_literal"
        | "interpreted_string_literal"
        | "char_literal"
        | "character_literal"
        | "rune_literal"
        | "character"
        | "simple_symbol"
        | "delimited_symbol"
        | "bare_string"
        | "bare_symbol"
        | "heredoc_body"
        | "regex"
        | "chained_string"
        | "concatenated_string" => Text,
        _ => return None,
    })
}

fn expression(name: &str) -> Option<Shape> {
    use Shape::{Assign, Binary, Call, Is, Lambda, Member, Pair, Switch, Through};
    Some(match name {
        "call_expression" | "new_expression" | "call" | "method_invocation" | "object_creation_expression"
        | "explicit_constructor_invocation" => Call,
        "member_expression" | "attribute" | "field_expression" | "selector_expression" | "field_access"
        | "scoped_identifier" | "scope_resolution" | "method_reference" | "scoped_type_identifier"
        | "qualified_type" | "nested_type_identifier" => Member,
        "subscript_expression" | "subscript" | "index_expression" | "slice_expression" | "array_access"
        | "element_reference" => Is(Kind::Index),
        "pair" | "keyword_argument" | "keyed_element" | "field_initializer" | "element_value_pair" => Pair,
        "spread_element" | "list_splat" | "dictionary_splat" | "splat_argument" | "hash_splat_argument"
        | "base_field_initializer" => Is(Kind::Spread),
        "array" | "list" | "tuple" | "set" | "array_expression" | "tuple_expression" | "array_initializer"
        | "element_value_array_initializer" | "literal_value" | "string_array" | "symbol_array"
        | "field_initializer_list" => Is(Kind::List),
        "object" | "dictionary" | "hash" => Is(Kind::Map),
        "arrow_function" | "function_expression" | "func_literal" | "lambda_expression" | "closure_expression"
        | "lambda" => Lambda,
        "assignment_expression" | "assignment" | "augmented_assignment" | "augmented_assignment_expression"
        | "compound_assignment_expr" | "operator_assignment" | "assignment_statement" | "short_var_declaration"
        | "variable_declarator" | "var_spec" | "const_spec" | "let_declaration" | "const_item" | "static_item"
        | "public_field_definition" | "named_expression" | "let_condition" | "update_expression" | "inc_statement"
        | "dec_statement" => Assign,
        "binary_expression" | "boolean_operator" | "binary_operator" | "binary" | "instanceof_expression" => Binary,
        "as_pattern" => Shape::Alias,
        "comparison_operator" => Shape::Comparison,
        "not_operator" | "unary_expression" | "unary_operator" | "unary" => Shape::Unary,
        "ternary_expression" | "conditional_expression" => Shape::If,
        "match_expression" | "switch_expression" => Switch,
        "await_expression" | "await" => Is(Kind::Await),
        "type_identifier_list" => Is(Kind::Type),
        "parenthesized_expression"
        | "expression_statement"
        | "statement_list"
        | "expression_list"
        | "literal_element"
        | "reference_expression"
        | "as_expression"
        | "satisfies_expression"
        | "non_null_expression"
        | "generic_function"
        | "type_cast_expression"
        | "cast_expression"
        | "try_expression"
        | "parenthesized_statements"
        | "as_pattern_target"
        | "class_literal"
        | "catch_type"
        | "superclass"
        | "class_heritage"
        | "extends_clause"
        | "template_substitution"
        | "interpolation"
        | "with_clause"
        | "with_item"
        | "pattern"
        | "match_pattern"
        | "case_pattern"
        | "range_clause"
        | "exceptions"
        | "expression" => Through,
        _ => return None,
    })
}

fn statement(name: &str) -> Option<Shape> {
    use Shape::{Arm, Catch, Class, Function, If, Is, Loop, Marked, Switch, Through, Try, With};
    Some(match name {
        "program" | "source_file" | "statement_block" | "block" | "class_body" | "declaration_list"
        | "constructor_body" | "interface_body" | "enum_body" | "switch_body" | "switch_block" | "match_block" => {
            Is(Kind::Block)
        }
        "function_declaration"
        | "function_definition"
        | "function_item"
        | "method_definition"
        | "method_declaration"
        | "generator_function_declaration"
        | "generator_function"
        | "constructor_declaration"
        | "function_signature_item" => Function,
        "class_declaration"
        | "class_definition"
        | "abstract_class_declaration"
        | "class"
        | "mod_item"
        | "impl_item"
        | "trait_item"
        | "struct_item"
        | "enum_item"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "type_spec" => Class,
        "formal_parameters" | "parameters" | "parameter_list" | "lambda_parameters" | "closure_parameters"
        | "method_parameters" | "block_parameters" => Is(Kind::Params),
        "required_parameter" | "optional_parameter" | "parameter" | "typed_parameter" | "default_parameter"
        | "typed_default_parameter" | "parameter_declaration" | "variadic_parameter_declaration"
        | "formal_parameter" | "spread_parameter" | "keyword_parameter" | "splat_parameter" | "rest_pattern"
        | "list_splat_pattern" | "dictionary_splat_pattern" | "destructured_parameter" | "object_pattern"
        | "array_pattern" | "tuple_pattern" | "pattern_list" | "tuple_struct_pattern" | "left_assignment_list"
        | "exception_variable" => Is(Kind::Bind),
        "if_statement" | "if_expression" | "elif_clause" => If,
        "else_clause" => Is(Kind::Else),
        "for_statement" | "for_in_statement" | "while_statement" | "do_statement" | "enhanced_for_statement"
        | "for_expression" | "while_expression" | "loop_expression" | "for_in_clause" => Loop,
        "switch_statement" | "expression_switch_statement" | "type_switch_statement" | "select_statement"
        | "match_statement" => Switch,
        "switch_case" | "switch_default" | "expression_case" | "default_case" | "type_case" | "communication_case"
        | "case_clause" | "match_arm" | "switch_block_statement_group" | "switch_rule" => Arm,
        "switch_label" => Through,
        "try_statement" | "try_with_resources_statement" => Try,
        "catch_clause" | "except_clause" | "except_group_clause" => Catch,
        "finally_clause" => Is(Kind::Finally),
        "with_statement" => With,
        "return_statement" | "return_expression" => Is(Kind::Return),
        "throw_statement" | "raise_statement" => Is(Kind::Throw),
        "break_statement" | "continue_statement" | "break_expression" | "continue_expression" | "yield_statement" => {
            Is(Kind::Jump)
        }
        "assert_statement" => Is(Kind::Assert),
        "import_statement"
        | "import_from_statement"
        | "import_declaration"
        | "use_declaration"
        | "future_import_statement" => Is(Kind::Import),
        "decorator" | "annotation" | "marker_annotation" | "attribute_item" | "inner_attribute_item" => {
            Is(Kind::Mark)
        }
        "decorated_definition" | "export_statement" => Marked,
        "lexical_declaration"
        | "variable_declaration"
        | "local_variable_declaration"
        | "field_declaration"
        | "var_declaration"
        | "const_declaration"
        | "type_declaration" => Through,
        _ => return None,
    })
}
