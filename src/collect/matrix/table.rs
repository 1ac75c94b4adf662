//! The tables themselves: faults down, APIs across. Where two words are joined by `|`, the speed of the machine decides.

use super::{
    apis::{self, Api},
    railway, vercel,
};

pub(super) const TABLES: [(&str, &[Api]); 3] =
    [(TABLE, &apis::APIS), (RAILWAY, &railway::APIS), (VERCEL, &vercel::APIS)];

#[rustfmt::skip]
const TABLE: &str = "\
fault                health          jsonrpc        pulls             runs              commits           log               issues            event             alerts            status            exceptions        project           deployments
refused              down            down           refused           refused           refused           refused           refused           refused           refused           refused           refused           refused           refused
reset-before-send    down            down           reset             reset             reset             reset             reset             reset             reset             reset             reset             reset             reset
reset-after-send     down            down           reset             reset             reset             reset             reset             reset             reset             reset             reset             reset             reset
reset-in-head        down            down           reset             reset             reset             reset             reset             reset             reset             reset             reset             reset             reset
reset-in-body        truncated       truncated      truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated
lost-answer          down            down           reset             reset             reset             reset             reset             reset             reset             reset             reset             reset             reset
no-http              protocol        protocol       protocol          protocol          protocol          protocol          protocol          protocol          protocol          protocol          protocol          protocol          protocol
500x1                well            well           well              well              well              well              well              well              well              well              well              well              well
500x3                down            down           well              well              well              well              well              well              well              well              well              well              well
500                  down            down           http-500          http-500          http-500          http-500          http-500          http-500          http-500          http-500          http-500          http-500          http-500
502x1                well            well           well              well              well              well              well              well              well              well              well              well              well
502x3                down            down           well              well              well              well              well              well              well              well              well              well              well
502                  down            down           http-502          http-502          http-502          http-502          http-502          http-502          http-502          http-502          http-502          http-502          http-502
503x1                well            well           well              well              well              well              well              well              well              well              well              well              well
503x3                down            down           well              well              well              well              well              well              well              well              well              well              well
503                  down            down           http-503          http-503          http-503          http-503          http-503          http-503          http-503          http-503          http-503          http-503          http-503
504x1                well            well           well              well              well              well              well              well              well              well              well              well              well
504x3                down            down           well              well              well              well              well              well              well              well              well              well              well
504                  down            down           http-504          http-504          http-504          http-504          http-504          http-504          http-504          http-504          http-504          http-504          http-504
429-secondsx1        rate-limited    quota          well              well              well              well              well              well              well              well              well              well              well
429-seconds          rate-limited    quota          rate-limited      rate-limited      rate-limited      rate-limited      http-429          http-429          http-429          http-429          http-429          rate-limited      rate-limited
429-datex1           rate-limited    quota          well              well              well              well              well              well              well              well              well              well              well
429-date             rate-limited    quota          rate-limited      rate-limited      rate-limited      rate-limited      http-429          http-429          http-429          http-429          http-429          rate-limited      rate-limited
429-absentx1         rate-limited    quota          well              well              well              well              well              well              well              well              well              well              well
429-absent           rate-limited    quota          rate-limited      rate-limited      rate-limited      rate-limited      http-429          http-429          http-429          http-429          http-429          rate-limited      rate-limited
429-1e9              rate-limited    quota          rate-limited      rate-limited      rate-limited      rate-limited      http-429          http-429          http-429          http-429          http-429          rate-limited      rate-limited
429-negativex1       rate-limited    quota          well              well              well              well              well              well              well              well              well              well              well
429-negative         rate-limited    quota          rate-limited      rate-limited      rate-limited      rate-limited      http-429          http-429          http-429          http-429          http-429          rate-limited      rate-limited
403-secondsx1        http-403        http-403       well              well              well              well              well              well              well              well              well              well              well
403-seconds          http-403        http-403       rate-limited      rate-limited      rate-limited      rate-limited      http-403          http-403          http-403          http-403          http-403          http-403          http-403
403-datex1           http-403        http-403       well              well              well              well              well              well              well              well              well              well              well
403-date             http-403        http-403       rate-limited      rate-limited      rate-limited      rate-limited      http-403          http-403          http-403          http-403          http-403          http-403          http-403
403-1e9              http-403        http-403       rate-limited      rate-limited      rate-limited      rate-limited      http-403          http-403          http-403          http-403          http-403          http-403          http-403
403-negativex1       http-403        http-403       well              well              well              well              well              well              well              well              well              well              well
403-negative         http-403        http-403       rate-limited      rate-limited      rate-limited      rate-limited      http-403          http-403          http-403          http-403          http-403          http-403          http-403
401                  http-401        http-401       http-401          http-401          http-401          http-401          http-401          http-401          http-401          http-401          http-401          http-401          http-401
403                  http-403        http-403       http-403          http-403          well              http-403          http-403          http-403          http-403          http-403          http-403          http-403          http-403
404                  down            down           http-404          http-404          well              well              http-404          well              http-404          http-404          http-404          http-404          http-404
html                 html            html           html              html              html              html              html              html              html              html              html              html              html
words                bad-json        bad-json       bad-json          bad-json          bad-json          -                 bad-json          bad-json          bad-json          bad-json          bad-json          bad-json          bad-json
picture              bad-json        bad-json       bad-json          bad-json          bad-json          -                 bad-json          bad-json          bad-json          bad-json          bad-json          bad-json          bad-json
wrong-kind           well            well           well              well              well              -                 well              well              well              well              well              well              well
empty                empty           empty          empty             empty             empty             well              empty             empty             empty             empty             empty             empty             empty
no-content           empty           down           http-204          http-204          http-204          http-204          empty             empty             empty             empty             empty             http-204          http-204
truncated            truncated       truncated      truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated
chunk-cut            truncated       truncated      truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated
chunk-lies           truncated       truncated      truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated
json-cut             truncated       truncated      truncated         truncated         truncated         -                 truncated         truncated         truncated         truncated         truncated         truncated         truncated
json-broken          bad-json        bad-json       bad-json          bad-json          bad-json          -                 bad-json          bad-json          bad-json          bad-json          bad-json          bad-json          bad-json
json-trailing        bad-json        bad-json       bad-json          bad-json          bad-json          -                 bad-json          bad-json          bad-json          bad-json          bad-json          bad-json          bad-json
json-deep            too-deep        too-deep       too-deep          too-deep          too-deep          -                 too-deep          too-deep          too-deep          too-deep          too-deep          too-deep          too-deep
json-other           down            wrong-id       shape             shape             shape             -                 shape             jq                jq                jq                jq                shape             shape
json-null            down            bad-rpc        shape             shape             shape             -                 shape             well              jq                jq                jq                shape             shape
json-number          jq              bad-json       shape             shape             shape             -                 bad-json          bad-json          jq                jq                jq                shape             shape
not-utf8             bad-json        bad-json       bad-json          bad-json          bad-json          -                 bad-json          bad-json          bad-json          bad-json          bad-json          bad-json          bad-json
duplicate-keys       duplicate-keys  duplicate-keys duplicate-keys    duplicate-keys    duplicate-keys    -                 duplicate-keys    duplicate-keys    duplicate-keys    duplicate-keys    duplicate-keys    duplicate-keys    duplicate-keys
huge                 too-large       too-large      too-large         too-large         too-large         too-large|timeout too-large         too-large         too-large         too-large         too-large         too-large         too-large
endless-body         too-large|down|timeout too-large|down|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout too-large|timeout
endless-head         protocol        protocol       protocol          protocol          protocol|timeout  protocol          protocol          protocol          protocol          protocol          protocol          protocol          protocol
long-line            too-large       well           well              well              well              well              well              well              well              well              well              well              well
gzip-1000            too-large       too-large      too-large         too-large         too-large         truncated         too-large         too-large         too-large         too-large         too-large         too-large         too-large
gzip-10gb            too-large       too-large      too-large         too-large         too-large         too-large|timeout too-large         too-large         too-large         too-large         too-large         too-large         too-large
gzip-broken          truncated       truncated      truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated         truncated
drip-head            down            down           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout
drip-body            down            down           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout
silence              down            down           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout
redirect-loop        redirect-loop   down           redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop     redirect-loop
redirect-loopback    redirect-denied down           redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied
redirect-scheme      redirect-denied down           redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied
redirect-credentials redirect-denied down           redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied   redirect-denied
redirect-nowhere     down            down           http-302          http-302          http-302          http-302          http-302          http-302          http-302          http-302          http-302          http-302          http-302
tls-good             well            well           well              well              well              well              well              well              well              well              well              well              well
tls-expired          down            down           tls               tls               tls               tls               tls               tls               tls               tls               tls               tls               tls
tls-wrong-host       down            down           tls               tls               tls               tls               tls               tls               tls               tls               tls               tls               tls
tls-unknown-issuer   down            down           tls               tls               tls               tls               tls               tls               tls               tls               tls               tls               tls
tls-stall            down            down           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout           timeout
tls-plain            down            down           reset             reset             reset             reset             reset             reset             reset             reset             reset             reset             reset
page-itself          -               -              pages             -                 -                 -                 pages             -                 -                 -                 -                 -                 -
page-circle          -               -              pages             -                 -                 -                 pages             -                 -                 -                 -                 -                 -
page-repeated        -               -              pages             -                 -                 -                 pages             -                 -                 -                 -                 -                 -
page-missing         -               -              http-404          -                 -                 -                 http-404          -                 -                 -                 -                 -                 -
page-elsewhere       -               -              pages             -                 -                 -                 pages             -                 -                 -                 -                 -                 -";

#[rustfmt::skip]
const RAILWAY: &str = "\
fault                token             environments   services       service           events         build-log      deploy-log     runtime-log       http-log       variables
refused              refused           -              -              refused           -              -              -              refused           -              refused
reset-before-send    reset             -              -              reset             -              -              -              reset             -              reset
reset-after-send     reset             -              -              reset             -              -              -              reset             -              reset
reset-in-head        reset             -              -              reset             -              -              -              reset             -              reset
reset-in-body        truncated         -              -              truncated         -              -              -              truncated         -              truncated
lost-answer          reset             -              -              reset             -              -              -              reset             -              reset
no-http              protocol          -              -              protocol          -              -              -              protocol          -              protocol
500x1                well              -              -              well              -              -              -              well              -              well
500x3                well              -              -              well              -              -              -              well              -              well
500                  http-500          http-500       http-500       http-500          http-500       http-500       http-500       http-500          http-500       http-500
502x1                well              -              -              well              -              -              -              well              -              well
502x3                well              -              -              well              -              -              -              well              -              well
502                  http-502          -              -              http-502          -              -              -              http-502          -              http-502
503x1                well              -              -              well              -              -              -              well              -              well
503x3                well              -              -              well              -              -              -              well              -              well
503                  http-503          -              -              http-503          -              -              -              http-503          -              http-503
504x1                well              -              -              well              -              -              -              well              -              well
504x3                well              -              -              well              -              -              -              well              -              well
504                  http-504          -              -              http-504          -              -              -              http-504          -              http-504
429-secondsx1        well              -              -              well              -              -              -              well              -              well
429-seconds          rate-limited      -              -              rate-limited      -              -              -              rate-limited      -              rate-limited
429-datex1           well              -              -              well              -              -              -              well              -              well
429-date             rate-limited      -              -              rate-limited      -              -              -              rate-limited      -              rate-limited
429-absentx1         well              -              -              well              -              -              -              well              -              well
429-absent           rate-limited      rate-limited   rate-limited   rate-limited      rate-limited   rate-limited   rate-limited   rate-limited      rate-limited   rate-limited
429-1e9              rate-limited      -              -              rate-limited      -              -              -              rate-limited      -              rate-limited
429-negativex1       well              -              -              well              -              -              -              well              -              well
429-negative         rate-limited      -              -              rate-limited      -              -              -              rate-limited      -              rate-limited
403-secondsx1        well              -              -              well              -              -              -              well              -              well
403-seconds          http-403          -              -              http-403          -              -              -              http-403          -              http-403
403-datex1           well              -              -              well              -              -              -              well              -              well
403-date             http-403          -              -              http-403          -              -              -              http-403          -              http-403
403-1e9              http-403          -              -              http-403          -              -              -              http-403          -              http-403
403-negativex1       well              -              -              well              -              -              -              well              -              well
403-negative         http-403          -              -              http-403          -              -              -              http-403          -              http-403
401                  http-401          http-401       http-401       http-401          http-401       http-401       http-401       http-401          http-401       http-401
403                  http-403          -              -              http-403          -              -              -              http-403          -              http-403
404                  http-404          -              -              http-404          -              -              -              http-404          -              http-404
html                 html              html           html           html              html           html           html           html              html           html
words                bad-json          -              -              bad-json          -              -              -              bad-json          -              bad-json
picture              bad-json          -              -              bad-json          -              -              -              bad-json          -              bad-json
wrong-kind           well              -              -              well              -              -              -              well              -              well
empty                empty             -              -              empty             -              -              -              empty             -              empty
no-content           empty             -              -              empty             -              -              -              empty             -              empty
truncated            truncated         truncated      truncated      truncated         truncated      truncated      truncated      truncated         truncated      truncated
chunk-cut            truncated         -              -              truncated         -              -              -              truncated         -              truncated
chunk-lies           truncated         -              -              truncated         -              -              -              truncated         -              truncated
json-cut             truncated         -              -              truncated         -              -              -              truncated         -              truncated
json-broken          bad-json          -              -              bad-json          -              -              -              bad-json          -              bad-json
json-trailing        bad-json          -              -              bad-json          -              -              -              bad-json          -              bad-json
json-deep            too-deep          -              -              too-deep          -              -              -              too-deep          -              too-deep
json-other           shape             shape          shape          shape             shape          shape          shape          shape             shape          shape
json-null            shape             -              -              shape             -              -              -              shape             -              shape
json-number          shape             -              -              shape             -              -              -              shape             -              shape
not-utf8             bad-json          -              -              bad-json          -              -              -              bad-json          -              bad-json
duplicate-keys       duplicate-keys    duplicate-keys duplicate-keys duplicate-keys    duplicate-keys duplicate-keys duplicate-keys duplicate-keys    duplicate-keys duplicate-keys
huge                 too-large         too-large      too-large      too-large         too-large      too-large      too-large      too-large         too-large      too-large
endless-body         too-large|timeout -              -              too-large|timeout -              -              -              too-large|timeout -              too-large|timeout
endless-head         protocol|timeout  -              -              protocol|timeout  -              -              -              protocol|timeout  -              protocol|timeout
long-line            well              -              -              well              -              -              -              well              -              well
gzip-1000            too-large         -              -              too-large         -              -              -              too-large         -              too-large
gzip-10gb            too-large         -              -              too-large         -              -              -              too-large         -              too-large
gzip-broken          truncated         -              -              truncated         -              -              -              truncated         -              truncated
drip-head            timeout           -              -              timeout           -              -              -              timeout           -              timeout
drip-body            timeout           -              -              timeout           -              -              -              timeout           -              timeout
silence              timeout           timeout        timeout        timeout           timeout        timeout        timeout        timeout           timeout        timeout
redirect-loop        http-302          -              -              http-302          -              -              -              http-302          -              http-302
redirect-loopback    http-302          -              -              http-302          -              -              -              http-302          -              http-302
redirect-scheme      http-302          -              -              http-302          -              -              -              http-302          -              http-302
redirect-credentials http-302          -              -              http-302          -              -              -              http-302          -              http-302
redirect-nowhere     http-302          -              -              http-302          -              -              -              http-302          -              http-302
tls-good             well              -              -              well              -              -              -              well              -              well
tls-expired          tls               -              -              tls               -              -              -              tls               -              tls
tls-wrong-host       tls               -              -              tls               -              -              -              tls               -              tls
tls-unknown-issuer   tls               -              -              tls               -              -              -              tls               -              tls
tls-stall            timeout           -              -              timeout           -              -              -              timeout           -              timeout
tls-plain            reset             -              -              reset             -              -              -              reset             -              reset
errors-no-right      not-authorised    not-authorised not-authorised not-authorised    not-authorised not-authorised not-authorised not-authorised    not-authorised not-authorised
errors-bad-token     bad-token         bad-token      bad-token      bad-token         bad-token      bad-token      bad-token      bad-token         bad-token      bad-token
errors-two-factor    two-factor        two-factor     two-factor     two-factor        two-factor     two-factor     two-factor     two-factor        two-factor     two-factor
errors-gone          not-found         not-found      not-found      not-found         not-found      not-found      not-found      not-found         not-found      not-found
errors-limit         rate-limited      rate-limited   rate-limited   rate-limited      rate-limited   rate-limited   rate-limited   rate-limited      rate-limited   rate-limited
errors-field         unknown-field     unknown-field  unknown-field  unknown-field     unknown-field  unknown-field  unknown-field  unknown-field     unknown-field  unknown-field
errors-inside        graphql           graphql        graphql        graphql           graphql        graphql        graphql        graphql           graphql        graphql
errors-beside        graphql           graphql        graphql        graphql           graphql        graphql        graphql        graphql           graphql        graphql
no-data              shape             shape          shape          shape             shape          shape          shape          shape             shape          shape
no-errors            shape             shape          shape          shape             shape          shape          shape          shape             shape          shape
hour-spent           rate-limited      rate-limited   rate-limited   rate-limited      rate-limited   rate-limited   rate-limited   rate-limited      rate-limited   well
cursor-itself        -                 pages          pages          -                 -              -              -              -                 -              pages
cursor-circle        -                 pages          pages          -                 -              -              -              -                 -              pages
cursor-on            -                 pages          pages          -                 -              -              -              -                 -              pages
cursor-missing       -                 pages          pages          -                 -              -              -              -                 -              pages";

#[rustfmt::skip]
const VERCEL: &str = "\
fault             build           history         env             domains         account
lost-answer       reset           reset           reset           reset           reset
reset-in-body     truncated       truncated       truncated       truncated       truncated
no-http           protocol        protocol        protocol        protocol        protocol
500x1             well            well            well            well            well
500               http-500        http-500        http-500        http-500        http-500
503x3             well            well            well            well            well
503               http-503        http-503        http-503        http-503        http-503
429-secondsx1     well            well            well            well            well
429-seconds       rate-limited    rate-limited    rate-limited    rate-limited    rate-limited
429-absent        rate-limited    rate-limited    rate-limited    rate-limited    rate-limited
401               http-401        http-401        http-401        http-401        http-401
403               http-403        http-403        http-403        http-403        http-403
404               http-404        http-404        http-404        http-404        http-404
html              html            html            html            html            html
words             bad-json        bad-json        bad-json        bad-json        bad-json
picture           bad-json        bad-json        bad-json        bad-json        bad-json
wrong-kind        well            well            well            well            well
empty             empty           empty           empty           empty           empty
no-content        http-204        http-204        http-204        http-204        http-204
truncated         truncated       truncated       truncated       truncated       truncated
chunk-cut         truncated       truncated       truncated       truncated       truncated
json-cut          truncated       truncated       truncated       truncated       truncated
json-broken       bad-json        bad-json        bad-json        bad-json        bad-json
json-trailing     bad-json        bad-json        bad-json        bad-json        bad-json
json-deep         too-deep        too-deep        too-deep        too-deep        too-deep
json-other        shape           shape           shape           shape           shape
json-null         well            shape           shape           shape           shape
json-number       shape           shape           shape           shape           shape
not-utf8          bad-json        bad-json        bad-json        bad-json        bad-json
duplicate-keys    duplicate-keys  duplicate-keys  duplicate-keys  duplicate-keys  duplicate-keys
huge              too-large       too-large       too-large       too-large       too-large
long-line         well            well            well            well            well
gzip-1000         too-large       too-large       too-large       too-large       too-large
gzip-broken       truncated       truncated       truncated       truncated       truncated
drip-body         timeout         timeout         timeout         timeout         timeout
silence           timeout         timeout         timeout         timeout         timeout
redirect-loop     redirect-loop   redirect-loop   redirect-loop   redirect-loop   redirect-loop
redirect-loopback redirect-denied redirect-denied redirect-denied redirect-denied redirect-denied
redirect-nowhere  http-302        http-302        http-302        http-302        http-302";
