import { Paper, Text, Textarea, type TextareaProps, VisuallyHidden } from "@mantine/core";
import { useId } from "@mantine/hooks";
import { type KeyboardEvent, useRef, useState } from "react";
import type { Element } from "../../../client/index.ts";
import { counted } from "../ui/words.ts";
import classes from "./mentions.module.css";
import { offeredFor, typedName, unknownName } from "./mentions.ts";

type Props = TextareaProps & {
  value: string;
  /** The elements that the text can name by @. */
  elements: Element[];
};

/** The field stays a text box, because a combobox has one line. ARIA has the list as `aria-controls`, the option as active descendant. */
export function MentionTextarea({ value, elements, error, onChange, onKeyDown, ...field }: Props) {
  const id = useId();
  const { input, offered, active, readTyped, choose, close, handleKey } = useOffer(elements);
  const isOpen = active !== undefined;
  const optionId = (element: Element) => `${id}-${element.elementId}`;
  const pressKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const { key, ctrlKey, metaKey, altKey, shiftKey, nativeEvent } = event;
    const isPlain = !(ctrlKey || metaKey || altKey || shiftKey || nativeEvent.isComposing);
    if (!isPlain || !handleKey(key)) return onKeyDown?.(event);
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
        aria-activedescendant={isOpen ? optionId(active) : undefined}
        data-mantine-stop-propagation={isOpen || undefined} // Escape closes the list, not the dialog
        onChange={(event) => {
          onChange?.(event);
          readTyped();
        }}
        onSelect={readTyped}
        onBlur={close}
        onKeyDown={pressKey}
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
        {isOpen && `${counted(offered.length, "element")}. Choose with the arrow keys and Enter.`}
      </VisuallyHidden>
    </div>
  );
}

/** The list does not scroll: one more letter shows others. */
const MAX_OFFERED = 6;

/** The elements that are offered for a name after an @. Enter chooses `active`. Without `active`, nothing is offered. */
function useOffer(elements: Element[]) {
  const input = useRef<HTMLTextAreaElement>(null);
  const [typed, setTyped] = useState<ReturnType<typeof typedName>>(null);
  const [place, setPlace] = useState(0);
  const offered = typed === null ? [] : offeredFor(typed.start, elements).slice(0, MAX_OFFERED);
  const active = offered[place] ?? offered[0];
  const close = () => setTyped(null);
  const readTyped = () => {
    if (input.current === null) return;
    const { value, selectionStart, selectionEnd } = input.current;
    const now = selectionStart === selectionEnd ? typedName(value, selectionStart) : null;
    if (now?.start !== typed?.start) setPlace(0);
    setTyped(now);
  };
  const choose = ({ name }: Element) => {
    if (input.current === null || typed === null) return;
    const { value, selectionStart } = input.current;
    const space = /^(?![\p{L}\p{N}@])./su.test(value.slice(selectionStart)) ? "" : " ";
    input.current.setRangeText(`@${name}${space}`, typed.from, selectionStart, "end");
    input.current.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  };
  /** Handles the keys of the list. Returns whether the key was one of them. */
  const handleKey = (key: string): boolean => {
    if (active === undefined) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step !== undefined) setPlace((place + step + offered.length) % offered.length);
    else if (key === "Enter" || key === "Tab") choose(active);
    else if (key === "Escape") close();
    else return false;
    return true;
  };
  return { input, offered, active, readTyped, choose, close, handleKey };
}
