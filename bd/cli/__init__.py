"""How it is typed. The only importer of click, and here no rule of the product lives."""
