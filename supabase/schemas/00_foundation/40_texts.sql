-- Rules for texts, used in checks. shared/contract/fields.ts has the same rules for the API; test/db/projects/texts.test.ts compares both
-- for every character. Ranges of code points do not depend on the collation.

-- Requires one character that is not white space, a control character or ignorable in display (zero-width characters, fillers,
-- variation selectors, tags). Those are allowed beside a visible character: Persian, Hindi and emoji need them.
create function keyframe_private.has_visible_character(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value ~ '[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]';
end $$;
comment on function keyframe_private.has_visible_character is 'Whether a text has a character that can be seen.';

create function keyframe_private.is_plain_text(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value !~ '[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]';
end $$;
comment on function keyframe_private.is_plain_text is 'Refuses control characters, which form terminal escapes, except tabs and line breaks.';

create function keyframe_private.is_one_line(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value !~ '[\u0001-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]';
end $$;
comment on function keyframe_private.is_one_line is 'Refuses control characters, line breaks, and bidirectional overrides, which change the direction of the text that follows.';
