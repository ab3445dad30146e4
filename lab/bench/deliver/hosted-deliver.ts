// keyframe-deliver for the hosted platform's Deno, on the port of the first argument.
import "../../../local/stack/hosted-serve.ts";
import "../../../supabase/functions/keyframe-deliver/index.ts";
