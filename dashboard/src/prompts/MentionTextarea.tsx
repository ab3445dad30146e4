import { Paper, Text, Textarea, type TextareaProps, VisuallyHidden } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { type KeyboardEvent, useRef, useState } from "react";
import type { Element } from "../../../client/index.ts";
import classes from "./mentions.module.css";
import { offeredFor, typedName, unknownName } from "./mentions.ts";

/** The list does not scroll: one more letter shows others. */
const MOST_OFFERED = 6;

type Props = TextareaProps & {
  value: string;
  /** What the text can name by @. */
  elements: Element[];
};

/**
 * A text in which an @ offers names, and unknown names are reported. The field stays a text box: a combobox has one line, so ARIA has the
 * list as its `aria-controls` and the option as its active descendant.
 */
export function MentionTextarea({ value, elements, error, onChange, onKeyDown, ...field }: Props) {
  const id = useId();
  const input = useRef<HTMLTextAreaElement>(null);
  const [typed, setTyped] = useState<ReturnType<typeof typedName>>(null);
  const [place, setPlace] = useState(0);
  const offered = typed === null ? [] : offeredFor(typed.start, elements).slice(0, MOST_OFFERED);
  const isOpen = offered.length > 0;
  const active = offered[place] ?? offered[0];
  const optionId = (element: Element) => `${id}-${element.elementId}`;

  const look = () => {
    const {
      value: text,
      selectionStart,
      selectionEnd,
    } = input.current ?? { value: "", selectionStart: 0, selectionEnd: 1 };
    const now = selectionStart === selectionEnd ? typedName(text, selectionStart) : null;
    if (now?.start !== typed?.start) setPlace(0);
    setTyped(now);
  };
  const choose = ({ name }: Element) => {
    if (input.current === null || typed === null) return;
    const { value: text, selectionStart } = input.current;
    const space = /^(?![\p{L}\p{N}@])./su.test(text.slice(selectionStart)) ? "" : " ";
    input.current.setRangeText(`@${name}${space}`, typed.from, selectionStart, "end");
    input.current.dispatchEvent(new Event("input", { bubbles: true }));
    setTyped(null);
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const { key, ctrlKey, metaKey, altKey, shiftKey, nativeEvent } = event;
    const isPlain = !(ctrlKey || metaKey || altKey || shiftKey || nativeEvent.isComposing);
    if (!isOpen || active === undefined || !isPlain) return onKeyDown?.(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step !== undefined) setPlace((place + step + offered.length) % offered.length);
    else if (key === "Enter" || key === "Tab") choose(active);
    else if (key === "Escape") setTyped(null);
    else return onKeyDown?.(event);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className={classes.mentions}>
      <Textarea
        autosize
        {...field}
        ref={input}
        value={value}
        error={error || unknownName(value, elements)}
        aria-autocomplete={elements.length > 0 ? "list" : undefined}
        aria-haspopup={elements.length > 0 ? "listbox" : undefined}
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen && active ? optionId(active) : undefined}
        data-mantine-stop-propagation={isOpen || undefined} // Escape closes the list, not the window
        onChange={(event) => {
          onChange?.(event);
          look();
        }}
        onSelect={look}
        onBlur={() => setTyped(null)}
        onKeyDown={press}
      />
      {isOpen && (
        <Paper withBorder shadow="md" role="listbox" id={id} aria-label="Elements" className={classes.offered}>
          {offered.map((element) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and the keys
            // biome-ignore lint/a11y/useFocusableInteractive: as above
            <div
              key={element.elementId}
              role="option"
              id={optionId(element)}
              aria-selected={element === active}
              onMouseDown={(event) => event.preventDefault()} // the focus stays in the field
              onClick={() => choose(element)}
            >
              {element.name}{" "}
              <Text span inherit c="dimmed">
                · {element.kind}
              </Text>
            </div>
          ))}
        </Paper>
      )}
      <VisuallyHidden role="status">
        {isOpen &&
          `${offered.length === 1 ? "1 element" : `${offered.length} elements`}. Choose with the arrow keys and Enter.`}
      </VisuallyHidden>
    </div>
  );
}
