// Objects as YAML, to be copied and saved. Reading YAML is the server's.

const PLAIN = /^[A-Za-z_./][A-Za-z0-9_./ -]*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n|~)$/i;

const scalar = (value) => {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.test(value) && !/[ ]$/.test(value) ? value : JSON.stringify(value);
};

const isEmpty = (value) => (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);

const lines = (value, indent) => {
  const pad = "  ".repeat(indent);
  const entry = (head, item) => {
    if (item === null || typeof item !== "object") return [`${head} ${scalar(item)}`];
    if (isEmpty(item)) return [`${head} ${Array.isArray(item) ? "[]" : "{}"}`];
    return [head, ...lines(item, indent + 1)];
  };
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if (item === null || typeof item !== "object" || isEmpty(item)) return entry(`${pad}-`, item);
      const below = lines(item, indent + 1);
      return [`${pad}- ${below[0].trimStart()}`, ...below.slice(1)];
    });
  }
  return Object.entries(value).filter(([, item]) => item !== undefined).flatMap(([key, item]) => entry(`${pad}${scalar(key)}:`, item));
};

export const yaml = (value) => `${lines(value, 0).join("\n")}\n`;
