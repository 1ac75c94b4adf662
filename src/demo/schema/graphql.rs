//! A published GraphQL schema, and what it says about a query and about the reply to it. For tests: queries as the product
//! sends them, replies as the world gives them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use graphql_parser::{
    query::{
        Definition, Field, OperationDefinition, Query, Selection, SelectionSet, Type, Value as Literal, parse_query,
    },
    schema::{Definition as SchemaPart, TypeDefinition, parse_schema},
};
use serde_json::Value;

/// The root of every query.
const ROOT: &str = "Query";

type Ty = Type<'static, String>;

pub(crate) struct Schema {
    types: BTreeMap<String, Kind>,
}

enum Kind {
    /// With fields: an object or an interface.
    Object(BTreeMap<String, FieldOf>),
    Input(BTreeMap<String, Given>),
    Enum(BTreeSet<String>),
    Scalar,
    Union,
}

struct FieldOf {
    ty: Ty,
    arguments: BTreeMap<String, Given>,
}

/// An argument, or a field of an input.
struct Given {
    ty: Ty,
    optional: bool,
}

impl Schema {
    /// Railway's, which lies in the repository.
    pub(crate) fn railway() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas/railway-schema.graphql.zst");
        let packed = std::fs::File::open(file).unwrap();
        let text = std::io::read_to_string(zstd::Decoder::new(packed).unwrap()).unwrap();
        Self::parse(&text)
    }

    fn parse(sdl: &str) -> Self {
        let document = parse_schema::<String>(sdl).unwrap().into_static();
        let parts = document.definitions.into_iter().filter_map(|part| match part {
            SchemaPart::TypeDefinition(of) => Some(named(of)),
            SchemaPart::SchemaDefinition(_) | SchemaPart::TypeExtension(_) | SchemaPart::DirectiveDefinition(_) => None,
        });
        let mut types: BTreeMap<String, Kind> = parts.collect();
        for builtin in ["String", "ID", "Int", "Float", "Boolean"] {
            types.insert(builtin.to_owned(), Kind::Scalar);
        }
        Self { types }
    }

    /// Whether the service would take this query; else everything that is wrong with it.
    pub(crate) fn check_query(&self, text: &str) -> Result<(), Vec<String>> {
        let query = parsed(text).map_err(|why| vec![why])?;
        let mut check = Check {
            schema: self,
            variables: BTreeMap::new(),
            used: BTreeSet::new(),
            wrong: Vec::new(),
        };
        for variable in &query.variable_definitions {
            let optional = variable.default_value.is_some();
            let ty = variable.var_type.clone();
            if !matches!(
                self.types.get(name_of(&ty)),
                Some(Kind::Scalar | Kind::Enum(_) | Kind::Input(_))
            ) {
                check
                    .wrong
                    .push(format!("${}: {ty} is no type of a variable", variable.name));
            }
            check.variables.insert(variable.name.clone(), Given { ty, optional });
        }
        check.selection(ROOT, &query.selection_set, "");
        let unused: Vec<String> = check
            .variables
            .keys()
            .filter(|name| !check.used.contains(*name))
            .cloned()
            .collect();
        check
            .wrong
            .extend(unused.into_iter().map(|name| format!("${name} is not used")));
        if check.wrong.is_empty() {
            Ok(())
        } else {
            Err(check.wrong)
        }
    }

    /// Whether this is what the service may reply: every field that was asked for, no other, each of its type.
    pub(crate) fn check_reply(&self, text: &str, data: &Value) -> Result<(), Vec<String>> {
        let query = parsed(text).map_err(|why| vec![why])?;
        let mut wrong = Vec::new();
        self.object(ROOT, &query.selection_set, data, "data", &mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn field(&self, of: &str, name: &str) -> Option<&FieldOf> {
        match self.types.get(of)? {
            Kind::Object(fields) => fields.get(name),
            Kind::Input(_) | Kind::Enum(_) | Kind::Scalar | Kind::Union => None,
        }
    }

    fn object(
        &self,
        of: &str,
        asked: &SelectionSet<'static, String>,
        value: &Value,
        at: &str,
        wrong: &mut Vec<String>,
    ) {
        let Some(fields) = value.as_object() else {
            return wrong.push(format!("{at}: {value} is no {of}"));
        };
        let mut keys: BTreeSet<&String> = fields.keys().collect();
        for field in fields_of(asked) {
            let key = field.alias.as_ref().unwrap_or(&field.name);
            let here = format!("{at}.{key}");
            match (self.field(of, &field.name), fields.get(key)) {
                (Some(known), Some(value)) => self.value(&known.ty, &field.selection_set, value, &here, wrong),
                (Some(_), None) => wrong.push(format!("{here} was asked for and is missing")),
                (None, _) => wrong.push(format!("{here}: {of} has no such field")),
            }
            keys.remove(key);
        }
        wrong.extend(keys.iter().map(|key| format!("{at}.{key} was not asked for")));
    }

    fn value(&self, ty: &Ty, asked: &SelectionSet<'static, String>, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let name = match (ty, value) {
            (Type::NonNullType(_), Value::Null) => return wrong.push(format!("{at}: null is no {ty}")),
            (Type::NonNullType(inner), _) => return self.value(inner, asked, value, at, wrong),
            (_, Value::Null) => return,
            (Type::ListType(inner), Value::Array(items)) => {
                for (n, item) in items.iter().enumerate() {
                    self.value(inner, asked, item, &format!("{at}[{n}]"), wrong);
                }
                return;
            }
            (Type::ListType(_), _) => return wrong.push(format!("{at}: {value} is no {ty}")),
            (Type::NamedType(name), _) => name,
        };
        let fits = match (self.types.get(name), name.as_str()) {
            (Some(Kind::Object(_)), _) => return self.object(name, asked, value, at, wrong),
            (Some(Kind::Enum(words)), _) => value.as_str().is_some_and(|word| words.contains(word)),
            (Some(Kind::Scalar), "String" | "ID") => value.is_string(),
            (Some(Kind::Scalar), "Int") => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            (Some(Kind::Scalar), "Float") => value.is_number(),
            (Some(Kind::Scalar), "Boolean") => value.is_boolean(),
            (Some(Kind::Scalar), "DateTime") => value
                .as_str()
                .is_some_and(|text| chrono::DateTime::parse_from_rfc3339(text).is_ok()),
            // What else is scalar is opaque.
            (Some(Kind::Scalar), _) => true,
            (Some(Kind::Input(_) | Kind::Union) | None, _) => false,
        };
        if !fits {
            wrong.push(format!("{at}: {value} is no {ty}"));
        }
    }
}

/// One query while it is checked.
struct Check<'a> {
    schema: &'a Schema,
    variables: BTreeMap<String, Given>,
    used: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Check<'_> {
    fn selection(&mut self, of: &str, asked: &SelectionSet<'static, String>, at: &str) {
        for item in &asked.items {
            let Selection::Field(field) = item else {
                self.wrong.push(format!("{at}: fragments are not used here"));
                continue;
            };
            let here = format!("{at}{}", field.name);
            let Some(known) = self.schema.field(of, &field.name) else {
                self.wrong.push(format!("{here}: {of} has no such field"));
                continue;
            };
            self.arguments(field, known, &here);
            let inner = name_of(&known.ty).to_owned();
            let composite = matches!(self.schema.types.get(&inner), Some(Kind::Object(_) | Kind::Union));
            match (composite, field.selection_set.items.is_empty()) {
                (true, true) => self.wrong.push(format!("{here}: of a {inner} fields have to be named")),
                (false, false) => self.wrong.push(format!("{here}: a {inner} has no fields")),
                (true, false) => self.selection(&inner, &field.selection_set, &format!("{here}.")),
                (false, true) => {}
            }
        }
    }

    fn arguments(&mut self, field: &Field<'static, String>, known: &FieldOf, at: &str) {
        for (name, value) in &field.arguments {
            match known.arguments.get(name) {
                Some(wanted) => self.given(&wanted.ty, value, &format!("{at}({name}:)")),
                None => self.wrong.push(format!("{at}({name}:): there is no such argument")),
            }
        }
        for (name, wanted) in &known.arguments {
            if !wanted.optional && field.arguments.iter().all(|(given, _)| given != name) {
                self.wrong.push(format!("{at}({name}:) is needed"));
            }
        }
    }

    fn given(&mut self, wanted: &Ty, value: &Literal<'static, String>, at: &str) {
        let bare = match wanted {
            Type::NonNullType(inner) => inner.as_ref(),
            Type::NamedType(_) | Type::ListType(_) => wanted,
        };
        if let Literal::Variable(name) = value {
            self.used.insert(name.clone());
            let fits = self
                .variables
                .get(name)
                .is_some_and(|variable| match (&variable.ty, wanted) {
                    (Type::NonNullType(inner), _) => inner.as_ref() == bare,
                    (ty, Type::NonNullType(_)) => variable.optional && ty == bare,
                    (ty, _) => ty == bare,
                });
            if !fits {
                self.wrong.push(format!("{at}: ${name} is no {wanted}"));
            }
            return;
        }
        let name = name_of(bare);
        if let (Some(Kind::Input(fields)), Literal::Object(values)) = (self.schema.types.get(name), value) {
            for (key, value) in values {
                match fields.get(key) {
                    Some(field) => self.given(&field.ty, value, &format!("{at}{{{key}}}")),
                    None => self.wrong.push(format!("{at}{{{key}}}: {name} has no such field")),
                }
            }
            let missing = fields
                .iter()
                .filter(|(key, field)| !field.optional && !values.contains_key(*key));
            self.wrong
                .extend(missing.map(|(key, _)| format!("{at}{{{key}}} is needed")));
            return;
        }
        let fits = match (self.schema.types.get(name), value) {
            (Some(Kind::Scalar), Literal::Int(_)) => matches!(name, "Int" | "Float"),
            (Some(Kind::Scalar), Literal::String(_)) => !matches!(name, "Int" | "Float" | "Boolean"),
            (Some(Kind::Scalar), Literal::Boolean(_)) => name == "Boolean",
            (Some(Kind::Enum(words)), Literal::Enum(word)) => words.contains(word),
            _ => false,
        };
        if !fits {
            self.wrong.push(format!("{at}: {value} is no {wanted}"));
        }
    }
}

fn named(of: TypeDefinition<'static, String>) -> (String, Kind) {
    let given = |value: graphql_parser::schema::InputValue<'static, String>| {
        let optional = !matches!(value.value_type, Type::NonNullType(_)) || value.default_value.is_some();
        let ty = value.value_type;
        (value.name, Given { ty, optional })
    };
    let fields = |fields: Vec<graphql_parser::schema::Field<'static, String>>| {
        let of = fields.into_iter().map(|field| {
            let arguments = field.arguments.into_iter().map(given).collect();
            let ty = field.field_type;
            (field.name, FieldOf { ty, arguments })
        });
        Kind::Object(of.collect())
    };
    match of {
        TypeDefinition::Object(of) => (of.name, fields(of.fields)),
        TypeDefinition::Interface(of) => (of.name, fields(of.fields)),
        TypeDefinition::InputObject(of) => (of.name, Kind::Input(of.fields.into_iter().map(given).collect())),
        TypeDefinition::Enum(of) => (
            of.name,
            Kind::Enum(of.values.into_iter().map(|value| value.name).collect()),
        ),
        TypeDefinition::Scalar(of) => (of.name, Kind::Scalar),
        TypeDefinition::Union(of) => (of.name, Kind::Union),
    }
}

/// The one operation of a document, which has to be a query.
fn parsed(text: &str) -> Result<Query<'static, String>, String> {
    let document = parse_query::<String>(text)
        .map_err(|error| error.to_string())?
        .into_static();
    let mut definitions = document.definitions.into_iter();
    match (definitions.next(), definitions.next()) {
        (Some(Definition::Operation(OperationDefinition::Query(query))), None) => Ok(query),
        _ => Err("it is not one query".to_owned()),
    }
}

fn fields_of<'a>(asked: &'a SelectionSet<'static, String>) -> impl Iterator<Item = &'a Field<'static, String>> {
    asked.items.iter().filter_map(|item| match item {
        Selection::Field(field) => Some(field),
        Selection::FragmentSpread(_) | Selection::InlineFragment(_) => None,
    })
}

fn name_of(ty: &Ty) -> &str {
    match ty {
        Type::NamedType(name) => name,
        Type::ListType(inner) | Type::NonNullType(inner) => name_of(inner),
    }
}

const SMALL: &str = "
    scalar DateTime
    enum Color { RED GREEN }
    input Filter { color: Color, text: String! }
    type Thing { id: ID!, at: DateTime, color: Color!, size: Int!, parts(first: Int!, filter: Filter): [Thing!]! }
    type Query { thing(id: String!): Thing!, things(color: Color, limit: Int = 3): [Thing!]! }
";

#[test]
fn what_a_service_would_refuse_is_found() {
    let schema = Schema::parse(SMALL);
    let check = |query: &str| schema.check_query(query).err().unwrap_or_default().join("; ");
    let good = "query T($id: String!, $f: Filter) { thing(id: $id) { id parts(first: 2, filter: $f) { color } } }";
    assert_eq!(check(good), "");
    for (query, expected) in [
        (
            "query T { thing(id: \"1\") { id name } }",
            "thing.name: Thing has no such field",
        ),
        ("query T { thing { id } }", "thing(id:) is needed"),
        ("query T { thing(id: 1) { id } }", "thing(id:): 1 is no String!"),
        (
            "query T { thing(id: \"1\", x: 2) { id } }",
            "thing(x:): there is no such argument",
        ),
        (
            "query T { thing(id: \"1\") }",
            "thing: of a Thing fields have to be named",
        ),
        (
            "query T { thing(id: \"1\") { id { x } } }",
            "thing.id: a ID has no fields",
        ),
        (
            "query T($id: String) { thing(id: $id) { id } }",
            "thing(id:): $id is no String!",
        ),
        (
            "query T($id: Thing!) { thing(id: $id) { id } }",
            "$id: Thing! is no type of a variable; thing(id:): $id is no String!",
        ),
        ("query T($x: Int) { thing(id: \"1\") { id } }", "$x is not used"),
        (
            "query T { things(color: BLUE) { id } }",
            "things(color:): BLUE is no Color",
        ),
        (
            "query T { thing(id: \"1\") { parts(first: 1, filter: { color: RED, size: 1 }) { id } } }",
            "thing.parts(filter:){size}: Filter has no such field; thing.parts(filter:){text} is needed",
        ),
        ("mutation T { thing(id: \"1\") { id } }", "it is not one query"),
    ] {
        assert_eq!(check(query), expected, "{query}");
    }
}

#[test]
fn a_reply_holds_what_was_asked_for() {
    use serde_json::json;
    let schema = Schema::parse(SMALL);
    let query = "query T { thing(id: \"1\") { id at color size } }";
    let check = |data: &Value| schema.check_reply(query, data).err().unwrap_or_default().join("; ");
    let good = json!({ "thing": { "id": "1", "at": "2026-11-29T03:00:00.000Z", "color": "RED", "size": 3 } });
    assert_eq!(check(&good), "");
    let with = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed["thing"][key] = value;
        check(&changed)
    };
    assert_eq!(with("at", Value::Null), "");
    assert_eq!(with("at", json!("today")), "data.thing.at: \"today\" is no DateTime");
    assert_eq!(with("color", json!("BLUE")), "data.thing.color: \"BLUE\" is no Color");
    assert_eq!(with("size", json!(1.5)), "data.thing.size: 1.5 is no Int");
    assert_eq!(with("size", Value::Null), "data.thing.size: null is no Int!");
    assert_eq!(with("parts", json!([])), "data.thing.parts was not asked for");
    assert_eq!(
        check(&json!({ "thing": { "id": "1" } })).matches("is missing").count(),
        3
    );
}
